/* SPDX-License-Identifier: MIT */
/*
 * The pseudo-random numbers of sampling periods (specification 3.4.2): Carta's "minimal standard"
 * generator (CACM 33(1), 1990), z' = 16807 z mod (2^31 - 1). A seed determines its series.
 */
#ifndef CORE_RANDOM_H
#define CORE_RANDOM_H

#include <stdint.h>

enum { RANDOM_BITS = 31 };

/* The state that a series begins with. Any seed will do, including multiples of 2^31-1. */
uint32_t random_seed(uint32_t seed);

/* The next number & @mask: as many draws as the mask is long, 31 bits each, lowest first. */
uint64_t random_draw(uint32_t *state, uint64_t mask);

#endif
