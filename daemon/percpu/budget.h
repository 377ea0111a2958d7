/* SPDX-License-Identifier: MIT */
/*
 * The budget of hardware counters that contexts on CPUs and contexts on threads share: the kernel
 * takes a counter from a thread as soon as an event of a CPU needs it. So a context that starts
 * reserves counters for its events, until it stops. The start is refused if the PMU can never count
 * those events together with the events for which a context of the other kind has reserved
 * counters. But a context on a thread keeps other users from a CPU only if it is root's.
 *
 * Which set of a context counts when is not known: each set must fit beside each set of the other
 * context.
 *
 * The worker of a context makes its reservation. The work is bounded: sets beyond the first
 * BUDGET_SETS of a context, and pairs of sets beyond BUDGET_TRIALS, are not tried. If the kernel
 * then takes a counter, or takes it because other programs need it, the counts are lost as usual.
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
	BUDGET_SETS = 8,    /* different sets of a context */
	BUDGET_EVENTS = 16, /* events of a set */
	/* Pairs of sets that a start tries. events_fit() is called once for a pair that fits, and
	 * up to three times for a pair that does not. */
	BUDGET_TRIALS = 64,
};

/* The events of a set that take a counter, as values of selectors. */
struct budget_set {
	unsigned n;
	uint64_t sel[BUDGET_EVENTS];
};

struct budget {
	struct backend *be; /* constant */
	pthread_mutex_t lock;
	struct list_head reservations;
};

/* The reservation of a worker. The budget's lock guards all fields except the first two, which are
 * constant. */
struct budget_reservation {
	const atomic_int *tid; /* the thread that is the target; NULL: the target is @cpu */
	unsigned cpu;
	bool reserved; /* in budget.reservations, by @entry */
	struct list_head entry;
	const struct engine_ctx *ec;
	unsigned nsets;
	struct budget_set sets[BUDGET_SETS];
};

void budget_init(struct budget *b, struct backend *be);

/* True if any set of @ctx has events that take counters. */
bool budget_takes_counters(const struct backend *be, const struct context *ctx);

/* Reserves counters, before those of @ec start. Fails with EBUSY, and reserves nothing, if its
 * events do not fit beside a context that counts. */
int budget_reserve(
	struct budget *b, const struct engine_ctx *ec, struct budget_reservation *c, struct err *e);
/* Updates the reservation, if there is one, after the PMCs of its context have changed. */
void budget_update(struct budget *b, struct budget_reservation *c);
/* Ends the reservation, if there is one. */
void budget_release(struct budget *b, struct budget_reservation *c);

#endif
