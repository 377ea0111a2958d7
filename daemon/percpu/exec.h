/* SPDX-License-Identifier: MIT */
/* Where plans meet the backend: runs one command on one context to its end. */
#ifndef CPU_EXEC_H
#define CPU_EXEC_H

#include "daemon/core/context.h"
#include "daemon/cpu/lookout.h"
#include "daemon/cpu/virtual.h"
#include "perfmonfs/backend.h"

/* What contexts have gone through. */
struct exec_stats {
	atomic_ullong thefts; /* counters found stolen or paused */
	atomic_ullong switches, overflows, messages_lost, witness_lost;
};

/* What it takes to execute commands on one CPU; whose it is, runs one at a time. */
struct executor {
	struct backend *be;
	struct backend_cpu *cpu; /* NULL: for unloaded contexts, which need no registers */
	struct exec_stats *stats;
	struct lookout *lookout; /* knows who is running; NULL: nobody does */
	struct virtuals virtuals;
	struct plan quiet; /* what stops the running context, made in advance */
	struct plan plan;
	struct step step;
};

/*
 * Executing a command comes in three parts, because what runs while counters count is counted:
 *
 *   exec_quiet()    stops the counters, first of all, if command_stops()
 *   exec_command()  does the work: 0, -errno with @e, or EXEC_LAST if there is one plan left, the
 *                   one that starts the counters
 *   exec_last()     runs that one; nothing is to be done after it, unless it fails
 *
 * The caller owns the context throughout.
 */
enum { EXEC_LAST = 1 };

static inline void exec_quiet(struct executor *x, const struct context *ctx)
{
	if (ctx_counts_now(ctx))
		x->quiet.done = x->be->ops->run(x->cpu, x->quiet.op, x->quiet.n, &x->quiet.err);
}

int exec_command(struct executor *x, struct context *ctx, struct command *cmd, struct err *e);

int exec_last_failed(struct executor *x, struct context *ctx, struct command *cmd, struct err *e);

static inline int exec_last(
	struct executor *x, struct context *ctx, struct command *cmd, struct err *e)
{
	x->plan.done = x->be->ops->run(x->cpu, x->plan.op, x->plan.n, &x->plan.err);
	return x->plan.done == x->plan.n ? 0 : exec_last_failed(x, ctx, cmd, e);
}

#endif
