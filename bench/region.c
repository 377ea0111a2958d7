// SPDX-License-Identifier: MIT
/*
 * region PAIRS COUNT: under `pfm stat --regions`, PAIRS empty regions "empty", then a region "loop"
 * of 2 * COUNT instructions. Prints the time of a pair in ns: the median and quartiles of 11 parts.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "bench/compare.h"
#include "perfmonfs/region.h"

enum { PARTS = 11 };

static void empty(void)
{
	if (pfm_region_begin("empty") < 0 || pfm_region_end("empty") < 0)
		err(1, "region empty");
}

static double part(long pairs)
{
	uint64_t begun = nsec_now(CLOCK_MONOTONIC);

	for (long i = 0; i < pairs; i++)
		empty();
	return (double)(nsec_now(CLOCK_MONOTONIC) - begun) / (double)pairs;
}

int main(int argc, char **argv)
{
	double ns[PARTS];
	long pairs, count;

	if (argc != 3)
		errx(2, "usage: region PAIRS COUNT");
	pairs = atol(argv[1]) / PARTS;
	count = atol(argv[2]);
	if (pairs < 1 || count < 1)
		errx(2, "%d pairs or more, and a loop", PARTS);
	empty();
	for (int i = 0; i < PARTS; i++)
		ns[i] = part(pairs);
	qsort(ns, PARTS, sizeof(*ns), compare_double);
	printf("%.0f %.0f..%.0f\n", ns[PARTS / 2], ns[PARTS / 4], ns[PARTS - 1 - PARTS / 4]);

	if (pfm_region_begin("loop") < 0)
		err(1, "region loop");
	__asm__ volatile("1:\tdec %0\n\tjnz 1b" : "+r"(count) : : "cc");
	if (pfm_region_end("loop") < 0)
		err(1, "region loop");
	return 0;
}
