// SPDX-License-Identifier: MIT
/* Start (specification 3.1.5); without effect on what is running. */
#include "daemon/core/core_i.h"

static int start_check(struct context *ctx, const struct command *cmd, struct err *e)
{
	if (ctx->state == CTX_UNLOADED)
		return err_set(e, EINVAL, "not loaded: write 'load cpu=N' to ctl first");
	if (cmd->has_set && !ctx_set(ctx, cmd->set))
		return err_set(e, EINVAL, "no event set %u", cmd->set);
	return 0;
}

int step_start(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	int rc;

	if (transition_active(st)) {
		ctx->state = CTX_LOADED; /* if it was enabling, that has failed */
		rc = transition_step(ctx, st, plan, e);
	} else {
		rc = start_check(ctx, cmd, e);
		if (rc < 0 || ctx->state == CTX_RUNNING)
			return rc;
		image_of(ctx->pmu, ctx->active->pmc, true, &st->target);
		rc = transition_begin(ctx, st, plan, e);
	}
	plan->last = rc == CORE_RUN && st->phase == PHASE_ENABLE;
	if (plan->last || rc == CORE_DONE)
		ctx->state = CTX_RUNNING;
	return rc;
}
