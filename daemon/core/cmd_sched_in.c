// SPDX-License-Identifier: MIT
/*
 * Restores a thread's context to the registers of the CPU that the thread comes to (specification
 * 3.1.7). The caller has set ctx->res to that CPU's reservation, which has all registers that the
 * sets need. This is never undone: a register that cannot be written costs its counts. If nothing
 * counts, the context stays saved, and the command still succeeds.
 */
#include "daemon/core/core_i.h"

static int sched_in_failed(struct context *ctx, const struct err *why)
{
	ctx_lose(ctx, why->no == ENXIO ? LOST_OFFLINE : LOST_FAULT);
	ctx_leave_registers(ctx, true);
	return 0;
}

int cmd_sched_in(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;
	struct program pg = {.unseen = true};
	struct err failed = {0};
	int rc;

	ctx->gap.open = false;
	/* A counter may still count here because stopping it has failed before. */
	if (ctx->res->hw.halted)
		freeze_counters(run, 0, &failed);
	if (failed.no)
		return sched_in_failed(ctx, &failed);
	ctx->res->hw.global = 0;
	run->moved = true;
	rc = switchover(run, &pg, 0, NULL, e);
	if (rc < 0)
		return sched_in_failed(ctx, e);
	run->undo.kind = UNDO_SCHED_IN;
	return rc;
}

int sched_in_last_failed(struct core_run *run, struct err *e)
{
	switchover_last_failed(run, e);
	return sched_in_failed(run->ctx, e);
}
