/* SPDX-License-Identifier: MIT */
/*
 * The time that ctxsw threads spend for the threads of one user. They are SCHED_FIFO, so it is
 * taken from all others and from no quota of the user. On each CPU, it is limited to a part of each
 * window of BUDGET_WINDOW_NS.
 */
#ifndef CTXSW_SWITCH_BUDGET_H
#define CTXSW_SWITCH_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define BUDGET_WINDOW_NS 100000000ULL

/* One CPU's, in ns of CLOCK_MONOTONIC; its ctxsw thread's own. */
struct budget_window {
	uint64_t since; /* when it began */
	uint64_t used;
	uint64_t padding[6]; /* no two share a cache line */
};

/* A user's. All but @cpu is the session thread's. */
struct switch_budget {
	struct list_head link; /* task_registry.budgets */
	unsigned uid;
	unsigned refs;              /* contexts on threads */
	uint64_t idle_since;        /* when the last one went */
	struct budget_window cpu[]; /* as many as the backend has CPUs */
};

static inline void budget_charge(struct budget_window *w, uint64_t from, uint64_t now)
{
	if (now - w->since >= BUDGET_WINDOW_NS) {
		w->since = now;
		w->used = 0;
	}
	if (now > from)
		w->used += now - from;
}

/* More than @percent of the CPU was used; of 100, there is no more. */
static inline bool budget_is_spent(const struct budget_window *w, uint64_t now, uint64_t percent)
{
	return percent < 100 && now - w->since < BUDGET_WINDOW_NS &&
	       w->used > BUDGET_WINDOW_NS / 100 * percent;
}

#endif
