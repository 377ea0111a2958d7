/* SPDX-License-Identifier: MIT */
/* Sequences of bytes, each kept once, and numbered from 0 in the order in which they are first
 * seen. */
#ifndef TOOLS_PFM_SAMPLES_INTERNED_H
#define TOOLS_PFM_SAMPLES_INTERNED_H

#include <stddef.h>
#include <stdint.h>

#include "tools/pfm/samples/indexed.h"

/* A sequence, which stays where it is until all are freed. It is aligned for any number. */
struct interned_sequence {
	const void *p;
	size_t size;
};

struct interned {
	struct indexed index;
	struct interned_sequence *list; /* by number */
	uint32_t room;
	struct interned_block *blocks; /* memory of the sequences, the newest first */
};

void interned_init(struct interned *in);
/* Also frees what interned_init() has not begun, if it is all 0. */
void interned_free(struct interned *in);

/* The number of a sequence of @size bytes, which is copied if it is new. Returns 0 or -ENOMEM. */
int interned_number(struct interned *in, const void *p, size_t size, uint32_t *number);
/* The same, but the sequence is not copied: @p must stay. */
int interned_borrow(struct interned *in, const void *p, size_t size, uint32_t *number);

static inline struct interned_sequence interned_get(const struct interned *in, uint32_t number)
{
	return in->list[number];
}

#endif
