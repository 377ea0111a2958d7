// SPDX-License-Identifier: MIT
/*
 * pread ROUNDS FLOOR FILE...: the median round trip of one pread at offset 0 on an open file, in
 * nanoseconds, and its ratio to that of FLOOR. The files take turns in batches, so that whatever
 * disturbs the machine disturbs all of them.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"
#include "bench/compare.h"

enum { BATCH = 200, MAX_FILES = 8 };

static void batch(int fd, uint64_t *ns)
{
	char buf[64];

	for (int i = 0; i < BATCH; i++) {
		uint64_t t = nsec_now(CLOCK_MONOTONIC);

		if (pread(fd, buf, sizeof(buf), 0) <= 0)
			err(1, "pread");
		ns[i] = nsec_now(CLOCK_MONOTONIC) - t;
	}
}

int main(int argc, char **argv)
{
	int fd[MAX_FILES], n = argc - 2, rounds = argc > 3 ? atoi(argv[1]) / BATCH : 0;
	uint64_t *ns[MAX_FILES];
	double floor_ns = 0;

	if (rounds < 1 || n > MAX_FILES)
		errx(2, "usage: pread ROUNDS FLOOR FILE...");
	for (int f = 0; f < n; f++) {
		fd[f] = open(argv[f + 2], O_RDONLY);
		ns[f] = calloc((size_t)rounds * BATCH, sizeof(*ns[f]));
		if (fd[f] < 0 || !ns[f])
			err(1, "%s", argv[f + 2]);
	}
	for (int r = 0; r < rounds; r++)
		for (int f = 0; f < n; f++)
			batch(fd[f], ns[f] + (size_t)r * BATCH);
	for (int f = 0; f < n; f++) {
		size_t count = (size_t)rounds * BATCH;

		double median;

		qsort(ns[f], count, sizeof(*ns[f]), compare_u64);
		median = (double)ns[f][count / 2];
		if (!f)
			floor_ns = median;
		printf("%-28s median %6.0f ns  p99 %6.0f ns  ratio %.2f\n", argv[f + 2], median,
			(double)ns[f][count * 99 / 100], median / floor_ns);
	}
	return 0;
}
