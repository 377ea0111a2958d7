// SPDX-License-Identifier: MIT
/*
 * Unload (specification 3.1.8): stops the counters, and restores the registers that are still
 * reserved. It always runs to its end: a register that fails is left as it is, and reported.
 */
#include "daemon/core/core_i.h"

int cmd_unload(struct core_run *run, bool keeps_threads, struct err *e)
{
	struct context *ctx = run->ctx;
	struct err failed = {0}, ignored;

	if (ctx->state == CTX_UNLOADED)
		return 0;
	if (ctx->yielded)
		gap_end_yield(ctx, run->now);
	else if (!ctx_saved(ctx))
		registers_release(run, CTX_LOADED, &failed);
	/* The backend forgets them when it closes the thread. Without memory, they are gone. */
	if (keeps_threads && run->io->threads && ctx->target.always_active)
		run->io->threads(run, &ctx->threads, &ignored);
	notify_pending(ctx);
	*ctx->res = (struct pmu_reservation){0};
	ctx->status.set = 0;
	ctx->yielded = false;
	ctx->active = ctx->sets[0];
	ctx->ovfl.block = false;
	type_reset(ctx);
	ctx_stopped(ctx, CTX_UNLOADED, run->clock);
	return failed.no ? err_copy(e, &failed) : 0;
}

int cmd_end(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;
	enum ctx_state was = ctx->state;
	struct pfm_msg m = {
		.type = PFM_MSG_END,
		.set = ctx->active->id,
		.cpu = (uint16_t)ctx->target.cpu,
		.pid = (uint32_t)ctx->target.pid,
		.tid = (uint32_t)ctx->target.tid,
	};
	int rc;

	if (was == CTX_UNLOADED)
		return 0; /* an unload has come first */
	rc = cmd_unload(run, true, e);
	ctx->target.ended = true;
	ctx->target.ended_as = was;
	ctx->count.notified++;
	messages_put_last(&ctx->messages, &m);
	return rc;
}
