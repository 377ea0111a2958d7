/* SPDX-License-Identifier: MIT */
/*
 * A context's message queue (specification 3.3.1): bounded, first in, first out. It is a ring with
 * one producer, the context's owner, and one consumer, the session thread. The hand-over of a
 * context from one owner to the next orders their accesses.
 */
#ifndef CORE_MESSAGE_QUEUE_H
#define CORE_MESSAGE_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "perfmonfs/msg.h"

enum { MESSAGES_MAX = 32, MESSAGE_WORDS = sizeof(struct pfm_msg) / sizeof(uint64_t) };

/* Words, because the consumer may read a slot while the producer reuses it: see messages_take(). */
struct message_slot {
	atomic_uint_least64_t word[MESSAGE_WORDS];
};

/*
 * Message number i is in slot i % MESSAGES_MAX; numbers wrap around. Those from head to tail can be
 * taken, those from tail to end are not published yet.
 */
struct messages {
	/* MESSAGES_MAX slots; NULL before the first load. Written by the producer before it
	 * publishes the first message. */
	struct message_slot *ring;
	/* Written by the consumer when it has taken messages, and by the producer when it drops
	 * all of them. Release, so that the loads of a slot come before its reuse. */
	atomic_uint head;
	/* Written by the producer, after the messages. Sequentially consistent: a producer that
	 * publishes and then reads engine_ctx.watched, and a consumer that sets watched and then
	 * looks for messages, do not miss each other. */
	atomic_uint tail;
	/* The producer's. */
	unsigned end;
	/* Messages lost since the last one that found room; the producer's. */
	uint64_t lost;
};

/* Before the first load. -ENOMEM. */
int messages_allocate(struct messages *q);
void messages_free(struct messages *q);

/* For the producer. */

/* Drops all messages. */
void messages_reset(struct messages *q);
/* False: there was no room, and @m is lost. PFM_MSG_LOST then precedes the next message. */
bool messages_put(struct messages *q, const struct pfm_msg *m);
/* Lets the consumer take what was put. All that it may read after that must be written before. True
 * if there is something new. */
bool messages_publish(struct messages *q);

/* For the consumer. */

/* How many it can take. */
unsigned messages_count(const struct messages *q);
/* Takes up to @max; returns how many. */
unsigned messages_take(struct messages *q, struct pfm_msg *out, unsigned max);

#endif
