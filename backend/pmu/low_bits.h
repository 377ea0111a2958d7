/* SPDX-License-Identifier: MIT */
#ifndef BACKEND_PMU_LOW_BITS_H
#define BACKEND_PMU_LOW_BITS_H

#include <stdint.h>

/* A mask of the @n lowest bits. */
static inline uint64_t pmu_low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (1ULL << n) - 1;
}

#endif
