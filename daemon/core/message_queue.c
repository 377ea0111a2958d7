// SPDX-License-Identifier: MIT
/* The message queue: a ring, which also counts the messages that found no room. */
#include "daemon/core/message_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Slots beyond the depth: for the last message, and for the record of a loss before it. */
enum { MESSAGES_RESERVED = 2 };

int messages_allocate(struct messages *q, size_t depth)
{
	if (q->ring)
		return 0;
	q->size = (unsigned)(depth > MESSAGES_DEPTH ? depth : MESSAGES_DEPTH) + MESSAGES_RESERVED;
	q->ring = calloc(q->size, sizeof(*q->ring));
	return q->ring ? 0 : -ENOMEM;
}

void messages_free(struct messages *q)
{
	free(q->ring);
	*q = (struct messages){0};
}

/* A consumer that is copying messages finds head changed, and discards them. */
void messages_reset(struct messages *q)
{
	atomic_store_explicit(&q->head, q->end, memory_order_release);
	atomic_store_explicit(&q->tail, q->end, memory_order_release);
	atomic_store(&q->reported, atomic_load(&q->lost));
	q->dropped = 0;
}

/* Release: a consumer that reads one of these words in place of a message that was dropped also
 * reads the head that messages_reset() has written. */
static void message_append(struct messages *q, const struct pfm_msg *m)
{
	struct message_slot *slot = &q->ring[q->end++ % q->size];
	uint64_t word[MESSAGE_WORDS];

	memcpy(word, m, sizeof(word));
	for (unsigned i = 0; i < MESSAGE_WORDS; i++)
		atomic_store_explicit(&slot->word[i], word[i], memory_order_release);
}

static struct pfm_msg message_of_loss(uint64_t count)
{
	return (struct pfm_msg){.type = PFM_MSG_LOST, .count = count};
}

/* Puts @m, and before it, if messages were lost, PFM_MSG_LOST with their number. */
static bool message_put(struct messages *q, const struct pfm_msg *m, unsigned room)
{
	uint64_t used = q->end - atomic_load_explicit(&q->head, memory_order_acquire);
	uint64_t lost = atomic_load(&q->lost),
		 unreported = lost - atomic_load(&q->reported) + q->dropped;
	struct pfm_msg loss;

	if (!q->ring)
		return false; /* never loaded: what the daemon counts for itself */
	if (used + (unreported ? 2 : 1) > room) {
		q->dropped++;
		return false;
	}
	/* The consumer may have reported them meanwhile. */
	if (unreported)
		unreported = lost - atomic_exchange(&q->reported, lost) + q->dropped;
	loss = message_of_loss(unreported);
	q->dropped = 0;
	if (unreported)
		message_append(q, &loss);
	message_append(q, m);
	return true;
}

bool messages_put(struct messages *q, const struct pfm_msg *m)
{
	return message_put(q, m, q->size - MESSAGES_RESERVED);
}

void messages_put_last(struct messages *q, const struct pfm_msg *m)
{
	message_put(q, m, q->size);
}

/* Tail first: a consumer that sees the loss sees the messages before it. */
bool messages_publish(struct messages *q)
{
	bool fresh = atomic_load_explicit(&q->tail, memory_order_relaxed) != q->end || q->dropped;

	if (!fresh)
		return false;
	atomic_store(&q->tail, q->end);
	if (q->dropped)
		atomic_fetch_add(&q->lost, q->dropped);
	q->dropped = 0;
	return true;
}

/* Reads tail before head, so that the number never exceeds the room in the ring. */
static unsigned message_count_from(const struct messages *q, uint64_t *head)
{
	uint64_t tail = atomic_load(&q->tail), n;

	*head = atomic_load_explicit(&q->head, memory_order_acquire);
	n = tail - *head;
	/* The ring may be under construction, until it has a message. */
	if (!n)
		return 0;
	return n <= q->size ? (unsigned)n : 0; /* Head is past tail: all have been dropped since. */
}

unsigned messages_count(const struct messages *q)
{
	bool unreported = atomic_load(&q->reported) != atomic_load(&q->lost);
	uint64_t head;

	return message_count_from(q, &head) + unreported;
}

static void message_copy(const struct messages *q, uint64_t i, struct pfm_msg *out)
{
	const struct message_slot *slot = &q->ring[i % q->size];
	uint64_t word[MESSAGE_WORDS];

	for (unsigned w = 0; w < MESSAGE_WORDS; w++)
		word[w] = atomic_load_explicit(&slot->word[w], memory_order_acquire);
	memcpy(out, word, sizeof(word));
}

/* @left: the number of messages that can still be taken. */
static unsigned message_take(struct messages *q, struct pfm_msg *out, unsigned max, unsigned *left)
{
	uint64_t head;
	unsigned n;

	do {
		*left = message_count_from(q, &head);
		n = *left < max ? *left : max;
		if (!n)
			return 0;
		for (unsigned i = 0; i < n; i++)
			message_copy(q, head + i, &out[i]);
		/* It fails if the messages were dropped meanwhile: their slots may be reused. */
	} while (!atomic_compare_exchange_strong_explicit(
		&q->head, &head, head + n, memory_order_acq_rel, memory_order_relaxed));
	*left -= n;
	return n;
}

/*
 * Reads the loss before the messages, all of which precede it. If the producer has not reported the
 * loss itself, it has put no message since. The next call reports later losses.
 */
unsigned messages_take(struct messages *q, struct pfm_msg *out, unsigned max)
{
	uint64_t reported = atomic_load(&q->reported),
		 unreported = atomic_load(&q->lost) - reported;
	unsigned left, n = message_take(q, out, max, &left);

	if (unreported && !left && n < max &&
		atomic_compare_exchange_strong(&q->reported, &reported, reported + unreported))
		out[n++] = message_of_loss(unreported);
	return n;
}
