// SPDX-License-Identifier: MIT
/* Acts on overflows that have been accounted: masking, notifications, set switches. */
#include "daemon/core/core_i.h"

/* The set's time is accounted up to ctx->since, and has not passed since. */
void overflow_act_saved(struct context *ctx)
{
	if (ctx->ovfl.mask_due)
		ctx_set_state(ctx, CTX_MASKED);
	notify_pending(ctx);
	if (ctx->state == CTX_RUNNING && (ctx->active->due || time_is_over(ctx, ctx->clock.since)))
		switch_activate(ctx, ctx->active->next);
}

int overflow_act(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;

	if (ctx_saved(ctx)) {
		overflow_act_saved(ctx);
		return 0;
	}
	if (ctx->ovfl.mask_due)
		return mask_counters(run, e);
	notify_pending(ctx);
	return ctx->active->due ? switch_sets(run, ctx->active->next, e) : 0;
}
