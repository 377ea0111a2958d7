// SPDX-License-Identifier: MIT
/*
 * The length of gaps in the counts of a thread (CTX_GAPS): the CPU time that the scheduler says it
 * had while its context was not in the registers, or while other threads were counted as well.
 */
#include "base/cleanup.h"
#include "daemon/authz/proc.h"
#include "daemon/ctxsw/ctxsw_i.h"

static void gap_account_until(struct task_ctx *task, uint64_t ran)
{
	struct context *ctx = &task->ec->ctx;

	if (!ctx->gap.open || ctx->state != CTX_RUNNING || ran <= task->counted_until)
		return;
	ctx_gap_add(ctx, ran - task->counted_until);
	task->counted_until = ran;
}

void ctxsw_gap_account(const struct ctxsw_thread *ct, struct task_ctx *task)
{
	gap_account_until(task, sched_slot(ct->shared->sched, task->slot)->runtime_out);
}

void ctxsw_gap_begins_later(const struct ctxsw_thread *ct, struct task_ctx *task)
{
	const struct sched_slot *s = sched_slot(ct->shared->sched, task->slot);

	/* Time that it ran while the ctxsw thread had to wait belongs to a gap that is not open
	 * yet. */
	if (!task->ec->ctx.gap.open && !ctxsw_load_word(&s->stalled))
		task->counted_until = s->runtime_out;
}

/* A context in no registers was last counted elsewhere, or never: /proc knows on which CPU its thread
 * has run since then. */
void ctxsw_lose_missed(struct context *ctx)
{
	struct err ignored;

	if (ctx_saved(ctx)) {
		CLEANUP_CLOSE int dir = proc_open(ctx->target.tid, &ignored);

		if (dir >= 0)
			ctx->target.cpu = proc_cpu(dir);
	}
	ctx_lose(ctx, LOST_MISSED);
}

/* Reads the CPU time first: if the BPF program has seen the thread leave by then, runtime_out is at
 * least as much. */
void ctxsw_gap_update(struct ctxsw_thread *ct, struct task_ctx *task)
{
	const struct sched_slot *s = sched_slot(ct->shared->sched, task->slot);
	struct context *ctx = &task->ec->ctx;
	CLEANUP_CLOSE int dir = -1;
	struct err ignored;
	uint64_t ran;

	if (!(ctx->flags & CTX_GAPS))
		return;
	dir = proc_open(ctx->target.tid, &ignored);
	if (dir < 0)
		return;
	ran = proc_runtime(dir);
	if (ctx->state != CTX_RUNNING) {
		task->counted_until = ran > s->runtime_out ? ran : s->runtime_out;
		return;
	}
	if (!ctxsw_load_word(&s->running) && ran > s->runtime_out && ran > task->counted_until &&
		proc_alive(dir, &ignored) == 0)
		ctxsw_lose_missed(ctx);
	gap_account_until(task, ran);
}
