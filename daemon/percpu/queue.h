/* SPDX-License-Identifier: MIT */
/*
 * A lock-free queue with many producers and one consumer, whose links are members of the entries.
 * The consumer takes all entries at once, oldest first.
 */
#ifndef PERCPU_QUEUE_H
#define PERCPU_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/container.h"

struct link {
	struct link *next;
};

struct queue {
	/* Newest first. */
	_Atomic(struct link *) head;
};

static inline void queue_put(struct queue *q, struct link *l)
{
	l->next = atomic_load_explicit(&q->head, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
		&q->head, &l->next, l, memory_order_release, memory_order_relaxed))
		;
}

static inline bool queue_empty(struct queue *q)
{
	return !atomic_load_explicit(&q->head, memory_order_acquire);
}

static inline struct link *queue_reversed(struct link *l)
{
	struct link *out = NULL;

	while (l) {
		struct link *next = l->next;

		l->next = out;
		out = l;
		l = next;
	}
	return out;
}

/* Takes all entries, oldest first. The common case is one entry, and it must be short: a worker
 * does this while counters count. */
static inline struct link *queue_take(struct queue *q)
{
	struct link *l = atomic_exchange_explicit(&q->head, NULL, memory_order_acquire);

	return __builtin_expect(l && l->next, 0) ? queue_reversed(l) : l;
}

/* Executes a statement for each entry @pos of @taken, a result of queue_take(). It may free @pos,
 * or put it into a queue. */
#define queue_for_each(pos, taken, member)                                                         \
	for (struct link *pos##_link = (taken), *pos##_next;                                       \
		pos##_link && (pos##_next = pos##_link->next,                                      \
			      pos = container_of(pos##_link, __typeof__(*pos), member), true);     \
		pos##_link = pos##_next)

#endif
