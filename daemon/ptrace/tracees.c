// SPDX-License-Identifier: MIT
/* The table of tracees, and the orders for them. */
#include "daemon/ptrace/tracer_i.h"

#include <stdlib.h>
#include <time.h>

#include "base/nsec.h"

struct tracee *tracer_find(const struct tracer *tr, pid_t tid)
{
	struct hash_node *node = hash_find(&tr->tracees, (uint64_t)tid);

	return node ? container_of(node, struct tracee, node) : NULL;
}

struct tracee *tracee_new(pid_t tid)
{
	struct tracee *t = calloc(1, sizeof(*t));

	if (t) {
		t->tid = tid;
		list_init(&t->due);
	}
	return t;
}

void tracer_add(struct tracer *tr, struct tracee *t)
{
	pthread_mutex_lock(&tr->lock);
	hash_add(&tr->tracees, &t->node, (uint64_t)t->tid);
	pthread_mutex_unlock(&tr->lock);
}

void tracer_set_tid(struct tracer *tr, struct tracee *t, pid_t tid)
{
	pthread_mutex_lock(&tr->lock);
	hash_remove(&tr->tracees, &t->node);
	t->tid = tid;
	hash_add(&tr->tracees, &t->node, (uint64_t)tid);
	pthread_mutex_unlock(&tr->lock);
}

void tracer_forget(struct tracer *tr, struct tracee *t)
{
	pthread_mutex_lock(&tr->lock);
	hash_remove(&tr->tracees, &t->node);
	list_del(&t->due);
	pthread_mutex_unlock(&tr->lock);
	if (t->known)
		tr->ops->ended(tr->arg, t->tid);
	free(t);
}

void tracer_want(struct tracer *tr, struct tracee *t, unsigned set, unsigned clear)
{
	t->wants = (t->wants & ~clear) | set;
	if (list_empty(&t->due))
		list_add(&t->due, &tr->due);
}

unsigned tracer_wants(struct tracer *tr, const struct tracee *t)
{
	unsigned wants;

	pthread_mutex_lock(&tr->lock);
	wants = t->wants;
	pthread_mutex_unlock(&tr->lock);
	return wants;
}

struct tracee *tracer_next_due(struct tracer *tr)
{
	struct tracee *t;

	pthread_mutex_lock(&tr->lock);
	t = list_first_entry_or_null(&tr->due, struct tracee, due);
	if (t)
		list_del(&t->due);
	pthread_mutex_unlock(&tr->lock);
	return t;
}

void tracer_suspect_exit(struct tracer *tr)
{
	tr->liveness_left = tr->tracees.nbuckets;
	if (!tr->liveness_at)
		tr->liveness_at = nsec_now(CLOCK_MONOTONIC) + TRACER_LIVENESS_NS;
}
