// SPDX-License-Identifier: MIT
/* The message queue: a ring, which also counts the messages that found no room. */
#include "daemon/core/message_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int messages_allocate(struct messages *q)
{
	if (!q->ring)
		q->ring = calloc(MESSAGES_MAX, sizeof(*q->ring));
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
	q->lost = 0;
}

/* Release: a consumer that reads one of these words in place of a message that was dropped also
 * reads the head that messages_reset() has written. */
static void message_append(struct messages *q, const struct pfm_msg *m)
{
	struct message_slot *slot = &q->ring[q->end++ % MESSAGES_MAX];
	uint64_t word[MESSAGE_WORDS];

	memcpy(word, m, sizeof(word));
	for (unsigned i = 0; i < MESSAGE_WORDS; i++)
		atomic_store_explicit(&slot->word[i], word[i], memory_order_release);
}

bool messages_put(struct messages *q, const struct pfm_msg *m)
{
	unsigned used = q->end - atomic_load_explicit(&q->head, memory_order_acquire);
	unsigned need = q->lost ? 2 : 1;

	if (MESSAGES_MAX - used < need) {
		q->lost++;
		return false;
	}
	if (q->lost)
		message_append(q,
			&(struct pfm_msg){.type = PFM_MSG_LOST, .cpu = m->cpu, .count = q->lost});
	q->lost = 0;
	message_append(q, m);
	return true;
}

bool messages_publish(struct messages *q)
{
	if (atomic_load_explicit(&q->tail, memory_order_relaxed) == q->end)
		return false;
	atomic_store(&q->tail, q->end);
	return true;
}

/* In this order, it is never more than there is room for. */
static unsigned message_count_from(const struct messages *q, unsigned *head)
{
	unsigned tail = atomic_load(&q->tail), n;

	*head = atomic_load_explicit(&q->head, memory_order_acquire);
	n = tail - *head;
	return n <= MESSAGES_MAX ? n : 0; /* Head is past tail: all have been dropped since. */
}

unsigned messages_count(const struct messages *q)
{
	unsigned head;

	return message_count_from(q, &head);
}

static void message_copy(const struct messages *q, unsigned i, struct pfm_msg *out)
{
	const struct message_slot *slot = &q->ring[i % MESSAGES_MAX];
	uint64_t word[MESSAGE_WORDS];

	for (unsigned w = 0; w < MESSAGE_WORDS; w++)
		word[w] = atomic_load_explicit(&slot->word[w], memory_order_acquire);
	memcpy(out, word, sizeof(word));
}

unsigned messages_take(struct messages *q, struct pfm_msg *out, unsigned max)
{
	unsigned head, n;

	do {
		n = message_count_from(q, &head);
		n = n < max ? n : max;
		if (!n)
			return 0;
		for (unsigned i = 0; i < n; i++)
			message_copy(q, head + i, &out[i]);
		/* It fails if the messages were dropped meanwhile: their slots may be reused. */
	} while (!atomic_compare_exchange_strong_explicit(
		&q->head, &head, head + n, memory_order_acq_rel, memory_order_relaxed));
	return n;
}
