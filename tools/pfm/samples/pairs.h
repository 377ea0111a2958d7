/* SPDX-License-Identifier: MIT */
/* Numbers pairs of values from 0, in the order in which they are first seen. */
#ifndef TOOLS_PFM_SAMPLES_PAIRS_H
#define TOOLS_PFM_SAMPLES_PAIRS_H

#include <stdint.h>

#include "tools/pfm/samples/indexed.h"

struct pair {
	uint64_t a;
	uint64_t b;
	uint64_t weight;  /* the caller's; 0 at first */
	const void *what; /* the caller's */
	uint32_t index;
};

struct pairs {
	struct indexed seen;
	struct pair *list; /* by index; pairs_number() may move it */
	uint32_t n;
	uint32_t room;
};

void pairs_init(struct pairs *p);
void pairs_free(struct pairs *p);

/* The number of (@a, @b), which gets @what if it is new; -ENOMEM. */
int pairs_number(struct pairs *p, uint64_t a, uint64_t b, const void *what);
/* Adds @weight to (@a, @b). Returns 0 or -ENOMEM. */
int pairs_weigh(struct pairs *p, uint64_t a, uint64_t b, uint64_t weight);

#endif
