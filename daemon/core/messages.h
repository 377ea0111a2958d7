/* SPDX-License-Identifier: MIT */
/* A context's message queue (specification 3.3.1): bounded, first in, first out. */
#ifndef CORE_MESSAGES_H
#define CORE_MESSAGES_H

#include <stdbool.h>

#include "perfmonfs/msg.h"

enum { MESSAGES_MAX = 32 };

struct messages {
	struct pfm_msg *ring; /* of MESSAGES_MAX; NULL before the first load */
	unsigned first, n;
	uint64_t lost; /* since the last that found room */
};

/* Empties it and sees to it that there is memory: -ENOMEM. */
int messages_reset(struct messages *q);
void messages_free(struct messages *q);

/* False: there was no room and it is lost. What was lost is told before the next one. */
bool messages_put(struct messages *q, const struct pfm_msg *m);

/* Takes up to @max; returns how many. */
unsigned messages_take(struct messages *q, struct pfm_msg *out, unsigned max);

#endif
