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
#include <stddef.h>

#include "perfmonfs/msg.h"

enum {
	MESSAGES_DEPTH = 32, /* the messages of a queue, unless a format needs more */
	MESSAGE_WORDS = sizeof(struct pfm_msg) / sizeof(uint64_t),
};

/* Words, because the consumer may read a slot while the producer reuses it: see messages_take(). */
struct message_slot {
	atomic_uint_least64_t word[MESSAGE_WORDS];
};

/*
 * Message number i is in slot i % size; 64 bits, so that numbers never wrap around. Those from head
 * to tail can be taken, those from tail to end are not published yet.
 */
struct messages {
	/* @size slots; NULL before the first load. Both are written by the producer before it
	 * publishes the first message. */
	struct message_slot *ring;
	unsigned size;
	/* Written by the consumer when it has taken messages, and by the producer when it drops
	 * all of them. Release, so that the loads of a slot come before its reuse. */
	atomic_uint_least64_t head;
	/* Written by the producer, after the messages. Sequentially consistent: a producer that
	 * publishes and then reads engine_ctx.watched, and a consumer that sets watched and then
	 * looks for messages, do not miss each other. */
	atomic_uint_least64_t tail;
	/* Messages that have ever found no room. The producer adds to it, after tail. */
	atomic_uint_least64_t lost;
	/* How many of @lost PFM_MSG_LOST has reported: by the producer before its next message, or
	 * by the consumer when it has taken all messages. The rest were lost after message number
	 * tail - 1. Both counters only rise, so that a consumer that was delayed does not mistake a
	 * later loss for an earlier one. */
	atomic_uint_least64_t reported;
	/* The number of the next message. Producer only. */
	uint64_t end;
	/* Messages that found no room and are not published yet. Producer only. */
	uint64_t dropped;
};

/* Allocates the ring, at the first load, for @depth messages or more. Returns 0 or -ENOMEM. */
int messages_allocate(struct messages *q, size_t depth);
void messages_free(struct messages *q);

/* For the producer. */

/* Drops all messages. */
void messages_reset(struct messages *q);
/* False if there was no room: @m is lost, and PFM_MSG_LOST takes its place. */
bool messages_put(struct messages *q, const struct pfm_msg *m);
/* Puts the last message before the next messages_reset(): there is always room for one. */
void messages_put_last(struct messages *q, const struct pfm_msg *m);
/* Lets the consumer take the messages put so far. Data that it may read after that must be written
 * before. True if there is anything new. */
bool messages_publish(struct messages *q);

/* For the consumer. */

/* The number of messages that it can take. */
unsigned messages_count(const struct messages *q);
/* Takes up to @max; returns how many. */
unsigned messages_take(struct messages *q, struct pfm_msg *out, unsigned max);

#endif
