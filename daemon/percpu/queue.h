/* SPDX-License-Identifier: MIT */
/*
 * Many threads put, one takes: a lock-free list of things that carry their own link. What is
 * taken at once comes out in the order it was put.
 */
#ifndef CPU_QUEUE_H
#define CPU_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct link {
	struct link *next;
};

struct queue {
	_Atomic(struct link *) head; /* newest first */
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

/* All of it, oldest first. One at a time is the rule, and a worker's instructions may count. */
static inline struct link *queue_take(struct queue *q)
{
	struct link *l = atomic_exchange_explicit(&q->head, NULL, memory_order_acquire);

	return __builtin_expect(l && l->next, 0) ? queue_reversed(l) : l;
}

#define link_entry(l, type, member) ((type *)(void *)((char *)(l)-offsetof(type, member)))

#endif
