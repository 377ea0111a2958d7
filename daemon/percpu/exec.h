/* SPDX-License-Identifier: MIT */
/* Runs the core on a backend: one command on one context at a time. */
#ifndef PERCPU_EXEC_H
#define PERCPU_EXEC_H

#include "daemon/core/core.h"
#include "daemon/percpu/sample_tick.h"
#include "daemon/percpu/virtual_pmd.h"
#include "perfmonfs/backend.h"

/* Events of all contexts since the daemon started. */
struct exec_stats {
	atomic_ullong stolen; /* counters found stolen or paused */
	atomic_ullong leapt;  /* counters found advanced by more than time allows */
	atomic_ullong switches, overflows, messages_lost;
	atomic_ullong attribution_lost; /* records of what ran on a CPU, dropped for lack of room */
};

/* The state for executing commands on one target. Its owner uses it for one command at a time. */
struct executor {
	struct backend *be;
	struct backend_cpu *cpu; /* NULL: for unloaded contexts, which access no registers */
	bool thread;             /* @cpu is a thread's; commands use the thread's time */
	struct exec_stats *stats;
	struct sample_tick *sample_tick; /* knows the running thread; NULL: it is not known */
	int interrupts_fd; /* becomes readable with interrupts; valid while the context has them, -1
			      when the target is gone */
	/* when interrupts were armed or taken last (CLOCK_MONOTONIC, ns) */
	uint64_t interrupts_taken;
	uint64_t moment;  /* time of the interrupt that is being handled (ns); 0: now */
	uint64_t resumed; /* when the counters were started last (CLOCK_MONOTONIC, ns) */
	struct virtuals virtuals;
	struct core_run run;
};

/*
 * Executing a command has three parts, because counters count the instructions that are executed
 * while they are enabled:
 *
 *   exec_freeze()   stops the counters, first of all, if command_freezes()
 *   exec_command()  does the work: 0, -errno with @e, or EXEC_LAST if one plan is left, which
 *                   enables the counters
 *   exec_last()     runs that plan; nothing is left to be done after it, unless it fails
 *
 * The caller owns the context throughout.
 */
enum { EXEC_LAST = CORE_LAST };

/* exec_freeze() for a context that is known to count. It executes the same number of instructions
 * each time. */
static inline void exec_freeze_counting(struct executor *x)
{
	struct plan *plan = &x->run.freeze;

	plan->done = x->be->ops->run(x->cpu, plan->op, plan->n, &plan->err);
}

static inline void exec_freeze(struct executor *x, const struct context *ctx)
{
	if (ctx_counts_now(ctx))
		exec_freeze_counting(x);
}

int exec_command(struct executor *x, struct context *ctx, struct command *cmd, struct err *e);

int exec_last_failed(struct executor *x, struct err *e);

static inline int exec_last(struct executor *x, struct err *e)
{
	struct plan *plan = &x->run.plan;

	plan->done = x->be->ops->run(x->cpu, plan->op, plan->n, &plan->err);
	return plan->done == plan->n ? 0 : exec_last_failed(x, e);
}

#endif
