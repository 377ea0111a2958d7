/* SPDX-License-Identifier: MIT */
/* Tests whether the kernel can count a selector's event, before anything is loaded. */
#ifndef BACKEND_PERF_TRY_H
#define BACKEND_PERF_TRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/perf/event.h"

enum {
	PERF_ACCEPTED = 64,
	PERF_FIT_MAX = 64, /* perf_fit() tries at most this many. */
};

/* May be used by any thread. */
struct perf_trial {
	/* Constant. */
	struct perf_kind kinds[PERF_KINDS_MAX];
	unsigned nkinds;
	/* Selectors that the kernel has accepted, indexed by their hash; 0: none. They are not
	 * tried again. */
	atomic_ullong accepted[PERF_ACCEPTED];
};

void perf_trial_init(struct perf_trial *t);

/*
 * Opens the event that @sel selects and closes it. Returns 0 if one kind of CPU can count it, or if
 * that cannot be determined now; otherwise fails like perf_trial_new(), for a reason in @sel
 * itself.
 */
int perf_try(struct perf_trial *t, uint64_t sel, struct err *e);

/*
 * backend_ops.events_fit: opens all events as a group, which the kernel validates, and closes them.
 * For machines with one kind of CPU.
 */
bool perf_fit(const struct perf_trial *t, const uint64_t *sels, unsigned n);

#endif
