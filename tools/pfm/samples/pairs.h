/* SPDX-License-Identifier: MIT */
/* Numbers pairs of values from 0, in the order in which they are first seen. */
#ifndef TOOLS_PFM_SAMPLES_PAIRS_H
#define TOOLS_PFM_SAMPLES_PAIRS_H

#include <stdint.h>

#include "base/hash.h"

struct pair {
	struct hash_node node;
	uint64_t a;
	uint64_t b;
	unsigned index;
	const void *what; /* the caller's */
};

struct pairs {
	struct hash hash;
	struct pair **list; /* by index */
	unsigned n;
	unsigned room;
};

/* Returns 0 or -ENOMEM. */
int pairs_init(struct pairs *p);
void pairs_free(struct pairs *p);

/* The number of (@a, @b), which gets @what if it is new; -ENOMEM. */
int pairs_number(struct pairs *p, uint64_t a, uint64_t b, const void *what);

#endif
