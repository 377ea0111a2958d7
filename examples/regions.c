// SPDX-License-Identifier: MIT
/*
 * regions FAULTS: counts of two parts of a program, one within the other, in two threads.
 *
 *   pfm stat --regions -e page-faults:u ./regions 1000
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdint.h>

#include <perfmonfs/region.h>

#include "example.h"

static void *work(void *n)
{
	fault(1); /* the faults that only the first call causes */
	for (int i = 0; i < 3; i++) {
		if (pfm_region_begin("all") < 0)
			err(1, "region all");
		fault((uintptr_t)n);
		pfm_region_begin("part");
		fault(10);
		pfm_region_end("part");
		pfm_region_end("all");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	void *n;

	if (argc != 2)
		errx(2, "usage: regions FAULTS");
	n = (void *)(uintptr_t)number(argv[1]);
	if (pthread_create(&other, NULL, work, n) != 0)
		errx(1, "pthread_create");
	work(n);
	pthread_join(other, NULL);
	return 0;
}
