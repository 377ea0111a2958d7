// SPDX-License-Identifier: MIT
#include "daemon/track/tracees.h"

#include <errno.h>
#include <stdlib.h>

enum { BUCKETS_MIN = 64 };

/* Numbers are given out one after the other: their low bits spread best. */
static struct tracee **bucket_of(const struct tracees *all, pid_t tid)
{
	return &all->bucket[(size_t)tid & (all->nbuckets - 1)];
}

static void put(struct tracees *all, struct tracee *t)
{
	struct tracee **b = bucket_of(all, t->tid);

	t->next = *b;
	*b = t;
}

/* Where there is no memory for it, buckets get longer. */
static void grow(struct tracees *all)
{
	struct tracees bigger = {.nbuckets = 2 * all->nbuckets, .n = all->n};

	bigger.bucket = calloc(bigger.nbuckets, sizeof(*bigger.bucket));
	if (!bigger.bucket)
		return;
	for (size_t i = 0; i < all->nbuckets; i++) {
		struct tracee *next;

		for (struct tracee *t = all->bucket[i]; t; t = next) {
			next = t->next;
			put(&bigger, t);
		}
	}
	free(all->bucket);
	*all = bigger;
}

int tracees_init(struct tracees *all)
{
	all->n = 0;
	all->nbuckets = BUCKETS_MIN;
	all->bucket = calloc(all->nbuckets, sizeof(*all->bucket));
	return all->bucket ? 0 : -ENOMEM;
}

void tracees_free(struct tracees *all)
{
	for (size_t i = 0; all->bucket && i < all->nbuckets; i++) {
		struct tracee *next;

		for (struct tracee *t = all->bucket[i]; t; t = next) {
			next = t->next;
			free(t);
		}
	}
	free(all->bucket);
}

struct tracee *tracees_find(const struct tracees *all, pid_t tid)
{
	struct tracee *t = *bucket_of(all, tid);

	while (t && t->tid != tid)
		t = t->next;
	return t;
}

void tracees_add(struct tracees *all, struct tracee *t)
{
	if (all->n == all->nbuckets)
		grow(all);
	put(all, t);
	all->n++;
}

void tracees_remove(struct tracees *all, struct tracee *t)
{
	struct tracee **at = bucket_of(all, t->tid);

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	all->n--;
}
