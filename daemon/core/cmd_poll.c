// SPDX-License-Identifier: MIT
/* Polling a running context: reads its counters, and masks, notifies and switches accordingly. */
#include "daemon/core/core_i.h"

int cmd_poll(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;

	if (!ctx_time_passes(ctx))
		return 0;
	/* A command that reads counters may have left something to be done. */
	if (ctx->ovfl.mask_due || ctx->ovfl.notify || ctx->active->due)
		return overflow_act(run, e);
	if (time_is_over(ctx, run->now))
		return switch_sets(run, ctx->active->next, e);
	if (ctx->interrupts)
		return 0;
	if (!ctx->ovfl.wrapped && status_suffices(ctx, run->now) && status_clear(run))
		return 0;
	read_counters(run, ~0U);
	account_overflows(run);
	return overflow_act(run, e);
}
