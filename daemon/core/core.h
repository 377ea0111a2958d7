/* SPDX-License-Identifier: MIT */
/*
 * Executing commands on contexts. The core only computes: the caller supplies access to registers,
 * the clock and virtual PMDs as struct pmu_io. The core has no threads and no locks: the caller
 * owns the context and the struct core_run during each call.
 */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include "daemon/core/context.h"
#include "daemon/core/plan.h"
#include "perfmonfs/format.h"

/* Values of virtual PMDs; sets of them have a bit per row. */
struct virtual_values {
	pmu_rows want;  /* to be fetched, unless in @asked */
	pmu_rows asked; /* fetching them has been tried for this command */
	pmu_rows valid; /* those that have a value */
	uint64_t value[PMU_MAX_VIRTUALS];
};

struct core_run;

/* The core's access to registers, the clock and virtual PMDs. */
struct pmu_io {
	/*
	 * Runs @n register operations in order; returns how many succeeded. If fewer than @n, @e
	 * says why the next one failed.
	 */
	unsigned (*run)(struct core_run *run, struct reg_op *ops, unsigned n, struct err *e);

	/* Asks whether @value of selector @addr, which enables its counter, can count. */
	int (*try_selector)(struct core_run *run, uint32_t addr, uint64_t value, struct err *e);

	/* The time base of the counts: monotonic nanoseconds that pass with the target's time. Sets
	 * run->clock. */
	uint64_t (*now)(struct core_run *run);

	/* Fetches the virtual PMDs in run->virt.want. */
	void (*fetch)(struct core_run *run);

	/* Reads the counts of each thread: see backend_ops.thread_table. NULL: no target has
	 * these. */
	int (*threads)(struct core_run *run, struct thread_table *out, struct err *e);
};

/*
 * How the core undoes a command whose last plan fails. Each field except @kind is valid only for
 * the kinds named.
 */
struct core_undo {
	enum {
		UNDO_START,  /* stop, and restore the state before the command */
		UNDO_SWITCH, /* the active set has changed all the same, and its counts are lost */
		UNDO_SCHED_IN, /* the context is saved again, and its counts are lost */
		UNDO_RESUME,   /* the context has yielded again */
	} kind;
	struct image image;      /* what the registers held before */
	struct evtset_undo sets; /* UNDO_START, UNDO_RESUME */
};

/* Executes one CPU's commands, one at a time. Initially all zero except @io. */
struct core_run {
	const struct pmu_io *io;
	uint64_t begun;             /* when the command began (ns) */
	uint64_t now;               /* when the latest plan returned its results (ns) */
	uint64_t clock;             /* the time of PMD 256 at that moment (ns) */
	pfm_smpl_where_t where;     /* the thread that was running; set by the caller */
	struct virtual_values virt; /* the virtual PMDs that this command has needed so far */

	pmu_rows interrupted; /* the PMD, by row, whose interrupt is being handled */

	struct context *ctx; /* the context of this command */
	bool frozen;         /* @freeze was run before the command, and its results are unread */
	bool moved;          /* registers have been written: @freeze has to be made again */
	uint64_t foreign_global; /* cleared bits of the global control that have new users */

	/* EBUSY: the register that is in use, and its value. Address 0: not known. */
	struct {
		uint32_t addr;
		uint64_t value;
	} conflict;

	struct plan plan;      /* the latest except @freeze; after CORE_LAST, the one to run */
	struct plan freeze;    /* stops the context that runs now; made in advance */
	struct core_undo undo; /* how to undo the last plan */
};

enum { CORE_LAST = 1 };

/*
 * Executes @cmd. If command_freezes() and ctx_counts_now(), the caller has run run->freeze just
 * before.
 *
 * Returns 0 if the command is done. CORE_LAST: run->plan, which enables the counters, is left for
 * the caller to run as its last action, because the counters count the instructions that follow. If
 * that plan succeeds, the command has succeeded; if not, the caller calls core_last_failed().
 * Negative: the command has failed with that errno, @e says why, and all that can be undone has
 * been undone. Counts that were lost in hardware meanwhile are marked in the context.
 *
 * Errors, in addition to the specification's: EINVAL wrong state or arguments; EBUSY already
 * loaded, in use, masked, or a counter is in use; ENOENT no such register or set; EEXIST the set
 * exists; EACCES no right to count at kernel level (write, load, start; read of a register that
 * does), or a write to a virtual PMD; EPERM no right to load; EIO a count was lost, a virtual PMD
 * has no value, or a register faults; ENODATA a virtual PMD that only samples have; ENXIO the CPU
 * is offline; EAGAIN no message.
 */
int core_command(struct core_run *run, struct context *ctx, struct command *cmd, struct err *e);
int core_last_failed(struct core_run *run, struct err *e);

/* The thread that was interrupted, and its address. If the thread is not known: the monitored
 * thread, or none. Then there is no address, as its address space is not known. */
pfm_smpl_where_t core_where(const struct core_run *run);

/*
 * Handles an interrupt of a running context, before a command on it. As after any reading, the next
 * CMD_POLL does what remains to be done: see ctx_wake(). After an overflow that masks or switches,
 * interrupts change nothing.
 */
void core_interrupt(struct core_run *run, struct context *ctx, const struct interrupt *in);

/* The checks of CMD_LOAD that need no register. For callers that prepare a CPU before it. */
int core_load_check(const struct context *ctx, const struct command *cmd, struct err *e);

#endif
