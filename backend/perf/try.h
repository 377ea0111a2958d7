/* SPDX-License-Identifier: MIT */
/* Whether the kernel can count what a selector selects, asked before anything is loaded. */
#ifndef BACKEND_PERF_TRY_H
#define BACKEND_PERF_TRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/perf/event.h"

enum {
	PERF_ACCEPTED = 64,
	PERF_FIT_MAX = 64, /* perf_fit() tries no more. */
};

/* For any thread. */
struct perf_trial {
	/* Constant. */
	struct perf_kind kinds[PERF_KINDS_MAX];
	unsigned nkinds;
	/* Selectors that the kernel has accepted, each at its hash; 0: none. They are not tried
	 * again. */
	atomic_ullong accepted[PERF_ACCEPTED];
};

void perf_trial_init(struct perf_trial *t);

/*
 * Opens the event that @sel selects and closes it. 0: one kind of CPU can count it, or that cannot
 * be said now; otherwise as perf_trial_new(), with what is wrong with @sel.
 */
int perf_try(struct perf_trial *t, uint64_t sel, struct err *e);

/*
 * As backend_ops.events_fit: opens all events as a group, which the kernel validates, and
 * closes them. For machines with one kind of CPU.
 */
bool perf_fit(const struct perf_trial *t, const uint64_t *sels, unsigned n);

#endif
