/* SPDX-License-Identifier: MIT */
/*
 * The budget of hardware counters, where contexts on CPUs and contexts on threads share them: the
 * kernel takes a counter from a thread as soon as an event of a CPU needs it. So a context that
 * starts reserves counters for its events, until it stops. It is refused if the PMU can never have
 * them together with those for which a context of the other kind has reserved counters. But no
 * user's thread keeps other users from a CPU, unless it is root's.
 *
 * Which set of a context counts when is not known: each set must fit beside each set of the other.
 *
 * The worker of a context does that for it. The work is bounded: what is beyond the first
 * BUDGET_SETS of a context, or BUDGET_TRIALS, is not tried. If the kernel takes a counter then, or
 * as other programs need it, the counts are lost as ever.
 */
#ifndef PERCPU_BUDGET_H
#define PERCPU_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "daemon/percpu/engine_ctx.h"
#include "perfmonfs/backend.h"

enum {
	BUDGET_SETS = 8,    /* that differ, of a context */
	BUDGET_EVENTS = 16, /* of a set */
	/* Pairs of sets that a start tries. events_fit is asked once for a pair that fits, and up
	 * to three times for one that does not. */
	BUDGET_TRIALS = 64,
};

/* What takes a counter in a set: values of selectors. */
struct budget_set {
	unsigned n;
	uint64_t sel[BUDGET_EVENTS];
};

struct budget {
	struct backend *be; /* constant */
	pthread_mutex_t lock;
	struct list_head reservations;
};

/* Of a worker. The budget's lock guards all fields but the first two, which are constant. */
struct budget_reservation {
	const atomic_int *tid; /* of the thread that is the target; NULL: @cpu */
	unsigned cpu;
	bool reserved; /* in budget.reservations by @entry */
	struct list_head entry;
	const struct engine_ctx *ec;
	unsigned nsets;
	struct budget_set sets[BUDGET_SETS];
};

void budget_init(struct budget *b, struct backend *be);

/* Whether any set of @ctx has events that take counters. */
bool budget_takes_counters(const struct backend *be, const struct context *ctx);

/* Before the counters of @ec start. EBUSY: not beside a context that counts, and nothing is
 * reserved. */
int budget_reserve(
	struct budget *b, const struct engine_ctx *ec, struct budget_reservation *c, struct err *e);
/* The PMCs of its context have changed. Nothing happens if nothing is reserved. */
void budget_update(struct budget *b, struct budget_reservation *c);
/* The same. */
void budget_release(struct budget *b, struct budget_reservation *c);

#endif
