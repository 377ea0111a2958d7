// SPDX-License-Identifier: MIT
/*
 * region PAIRS COUNT: under `pfm stat --regions`, PAIRS empty regions "empty", then a region "loop"
 * of 2 * COUNT instructions. Prints the time of a pair in ns: the median and quartiles of 11 parts.
 * Then the same of the least that a pair costs without RDPMC, in turns with the above: two times
 * read(2) of a group of two perf events. It is 0 where the kernel opens no such group.
 */
#include <err.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/nsec.h"
#include "bench/compare.h"
#include "perfmonfs/region.h"

enum { PARTS = 11 };

static void empty(void)
{
	if (pfm_region_begin("empty") < 0 || pfm_region_end("empty") < 0)
		err(1, "region empty");
}

static int group = -1;

/* -1: the kernel refuses. The member stays open. */
static int open_event(uint64_t config, int leader)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.exclude_kernel = 1,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static void floor_pair(void)
{
	uint64_t reading[5];

	if (read(group, reading, sizeof(reading)) != sizeof(reading) ||
		read(group, reading, sizeof(reading)) != sizeof(reading))
		err(1, "read of a group");
}

static double part(void (*pair)(void), long pairs)
{
	uint64_t begun = nsec_now(CLOCK_MONOTONIC);

	for (long i = 0; i < pairs; i++)
		pair();
	return (double)(nsec_now(CLOCK_MONOTONIC) - begun) / (double)pairs;
}

static void print(double ns[PARTS])
{
	qsort(ns, PARTS, sizeof(*ns), compare_double);
	printf("%.0f %.0f..%.0f\n", ns[PARTS / 2], ns[PARTS / 4], ns[PARTS - 1 - PARTS / 4]);
}

int main(int argc, char **argv)
{
	double ns[PARTS], floor_ns[PARTS] = {0};
	long pairs, count;

	if (argc != 3)
		errx(2, "usage: region PAIRS COUNT");
	pairs = atol(argv[1]) / PARTS;
	count = atol(argv[2]);
	if (pairs < 1 || count < 1)
		errx(2, "%d pairs or more, and a loop", PARTS);
	empty();
	group = open_event(PERF_COUNT_SW_PAGE_FAULTS, -1);
	if (group >= 0 && open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, group) < 0)
		err(1, "an event of the group");
	for (int i = 0; i < PARTS; i++) {
		ns[i] = part(empty, pairs);
		floor_ns[i] = group < 0 ? 0 : part(floor_pair, pairs);
	}
	print(ns);
	print(floor_ns);

	if (pfm_region_begin("loop") < 0)
		err(1, "region loop");
	__asm__ volatile("1:\tdec %0\n\tjnz 1b" : "+r"(count) : : "cc");
	if (pfm_region_end("loop") < 0)
		err(1, "region loop");
	return 0;
}
