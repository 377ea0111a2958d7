// SPDX-License-Identifier: MIT
/* Start and stop (specification 3.1.5, 3.1.6), both idempotent. */
#include "daemon/core/core_i.h"

int step_start(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	uint64_t now, struct err *e)
{
	int rc;

	if (!transition_active(st)) {
		if (ctx->state == CTX_UNLOADED)
			return err_set(e, EINVAL, "not loaded: write 'load cpu=N' to ctl first");
		if (cmd->has_set && !ctx_set(ctx, cmd->set))
			return err_set(e, EINVAL, "no event set %u", cmd->set);
		if (ctx->state == CTX_RUNNING)
			return CORE_DONE;
		image_of(ctx->pmu, ctx->active->pmc, true, &st->target);
		rc = transition_begin(ctx, st, plan, now, e);
	} else {
		rc = transition_step(ctx, st, plan, now, e);
	}
	if (rc == CORE_DONE)
		ctx->state = CTX_RUNNING;
	return rc;
}

int step_stop(struct context *ctx, struct step *st, struct plan *plan, uint64_t now,
	struct err *e)
{
	int rc;

	if (!transition_active(st)) {
		if (ctx->state == CTX_UNLOADED)
			return err_set(e, EINVAL, "not loaded: there is nothing to stop");
		if (ctx->state == CTX_LOADED)
			return CORE_DONE;
		st->forced = true;
		image_of(ctx->pmu, ctx->active->pmc, false, &st->target);
		rc = transition_begin(ctx, st, plan, now, e);
	} else {
		rc = transition_step(ctx, st, plan, now, e);
	}
	if (rc == CORE_DONE)
		ctx->state = CTX_LOADED;
	return rc;
}
