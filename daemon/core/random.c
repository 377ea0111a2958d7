// SPDX-License-Identifier: MIT
/* Carta's generator: the product modulo 2^31 - 1 without a division. */
#include "daemon/core/random.h"

#define MODULUS ((1U << RANDOM_BITS) - 1)

/* The product's upper half counts as much as the lower one: 2^31 is 1 modulo 2^31-1. */
static uint32_t random_next(uint32_t z)
{
	uint64_t product = (uint64_t)z * 16807;
	uint32_t sum = (uint32_t)(product & MODULUS) + (uint32_t)(product >> RANDOM_BITS);

	return sum > MODULUS ? sum - MODULUS : sum;
}

uint32_t random_seed(uint32_t seed)
{
	/* 0 would stay 0 for ever. */
	return seed % MODULUS ? seed % MODULUS : 1;
}

uint64_t random_draw(uint32_t *state, uint64_t mask)
{
	uint64_t random = 0;

	for (unsigned shift = 0; shift < 64 && mask >> shift; shift += RANDOM_BITS) {
		*state = random_next(*state);
		random |= (uint64_t)*state << shift;
	}
	return random & mask;
}
