// SPDX-License-Identifier: MIT
/* What a running context does by itself: it looks for overflow, masks and switches. */
#include "daemon/core/core_i.h"

static int mask_begin(struct context *ctx, struct step *st, struct plan *plan)
{
	st->masking = true;
	return stop_begin(ctx, st, plan);
}

/* What the last look has found besides is told with the rest. */
int mask_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	int rc = stop_step(ctx, st, plan, e);

	if (rc != CORE_DONE)
		return rc;
	overflow_settle(ctx, plan);
	ctx_set_state(ctx, CTX_MASKED);
	overflow_notify(ctx);
	return CORE_DONE;
}

/* Where a look leads to. */
int look_act(struct context *ctx, struct step *st, struct plan *plan)
{
	if (ctx_parked(ctx))
		return parked_act(ctx);
	if (ctx->mask_due)
		return mask_begin(ctx, st, plan);
	overflow_notify(ctx);
	return ctx->active->due ? switch_begin(ctx, st, plan, NULL) : CORE_DONE;
}

static int look(struct context *ctx, struct step *st, struct plan *plan)
{
	if (look_at(ctx, st, plan, live_rows(ctx, ~0U)) == CORE_RUN)
		return CORE_RUN;
	overflow_settle(ctx, plan);
	return look_act(ctx, st, plan);
}

static int begin(struct context *ctx, struct step *st, struct plan *plan)
{
	if (!ctx_counts(ctx))
		return CORE_DONE;
	/* A read may have found what is to be done. */
	if (ctx->mask_due || ctx->tell || ctx->active->due)
		return look_act(ctx, st, plan);
	if (time_is_over(ctx, plan->at))
		return switch_begin(ctx, st, plan, NULL);
	if (!ctx->wrapped && status_suffices(ctx, plan->at))
		return status_begin(ctx, st, plan);
	return look(ctx, st, plan);
}

int step_poll(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	int rc;

	/* The counters have been stopped before this began. */
	if (cmd->verb == CMD_SWITCH && st->phase == PHASE_QUIET && !st->masking)
		st->phase = PHASE_SWITCH_QUIET;
	if (switch_active(st))
		return switch_step(ctx, st, plan, e);
	if (stop_active(st))
		return mask_step(ctx, st, plan, e);
	if (status_active(st)) {
		rc = status_step(ctx, st, plan);
		return rc == CORE_DONE && st->phase == PHASE_START ? look(ctx, st, plan) : rc;
	}
	return st->phase == PHASE_READ ? look(ctx, st, plan) : begin(ctx, st, plan);
}
