/* SPDX-License-Identifier: MIT */
/* For qsort(), in rising order. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include <stdint.h>

static inline int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static inline int compare_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

#endif
