/* SPDX-License-Identifier: MIT */
/*
 * A user's switch budget limits the time that ctxsw threads spend for that user's threads. As ctxsw
 * threads are SCHED_FIFO, this time is taken from all other threads and from no quota of the user.
 * On each CPU, it is limited to a part of each window of BUDGET_WINDOW_NS.
 */
#ifndef CTXSW_SWITCH_BUDGET_H
#define CTXSW_SWITCH_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define BUDGET_WINDOW_NS 100000000ULL

/* The window of one CPU, in ns of CLOCK_MONOTONIC. Belongs to the CPU's ctxsw thread. */
struct budget_window {
	uint64_t since; /* when the window began */
	uint64_t used;
	uint64_t padding[6]; /* no two share a cache line */
};

/* The budget of one user. All fields except @cpu belong to the session thread. */
struct switch_budget {
	struct list_head link; /* task_registry.budgets */
	unsigned uid;
	unsigned refs;              /* contexts on threads */
	uint64_t idle_since;        /* when refs became 0 (CLOCK_MONOTONIC, ns) */
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

/* More than @percent of the CPU was used. 100 means no limit. */
static inline bool budget_is_spent(const struct budget_window *w, uint64_t now, uint64_t percent)
{
	return percent < 100 && now - w->since < BUDGET_WINDOW_NS &&
	       w->used > BUDGET_WINDOW_NS / 100 * percent;
}

#endif
