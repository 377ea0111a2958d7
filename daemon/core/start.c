// SPDX-License-Identifier: MIT
/*
 * Start and restart (specification 3.1.5, 3.1.9): from counters that stand still to ones that
 * count. What activating a set and resetting PMDs change is kept until nothing can fail any more.
 */
#include "daemon/core/core_i.h"

static int start_check(const struct context *ctx, const struct command *cmd, struct err *e)
{
	if (ctx->state == CTX_UNLOADED)
		return err_set(e, EINVAL, "not loaded: write 'load cpu=N' to ctl first");
	if (cmd->has_set && !ctx_set(ctx, cmd->set))
		return err_set(e, EINVAL, "no event set %u", cmd->set);
	if (ctx->state == CTX_MASKED)
		return err_set(e, EBUSY, "masked after an overflow: restart it, or stop first");
	if (ctx->hw.halted)
		return err_set(e, EIO, "a stop or switch has failed half-way: unload first");
	return 0;
}

static int begin(struct context *ctx, const struct command *cmd, struct step *st, struct plan *plan,
	struct err *e)
{
	st->undo.state = ctx->state;
	ctx->limits = cmd->limits;
	image_of(ctx->pmu, ctx->active->pmc, true, &st->target);
	return transition_begin(ctx, st, plan, e);
}

static int go_on(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	/* If it was enabling, that has failed. */
	ctx_set_state(ctx, st->undo.state);
	return transition_step(ctx, st, plan, e);
}

static int settle(struct context *ctx, struct step *st, struct plan *plan, int rc)
{
	plan->last = rc == CORE_RUN && st->phase == PHASE_ENABLE;
	if (plan->last || rc == CORE_DONE) {
		ctx->since = plan->at;
		ctx_set_state(ctx, CTX_RUNNING);
	} else if (rc < 0) {
		evtset_restore(&st->undo);
		ctx->active = st->undo.from;
	}
	return rc;
}

static int start_begin(struct context *ctx, const struct command *cmd, struct step *st,
	struct plan *plan, struct err *e)
{
	struct evtset *set = cmd->has_set ? ctx_set(ctx, cmd->set) : ctx->active;

	evtset_save(set, ctx->active, &st->undo);
	if (cmd->has_set) {
		ctx->active->due = 0;
		evtset_reset_pending(set, RESET_SHORT);
		evtset_activate(set);
	}
	ctx->active = set;
	return begin(ctx, cmd, st, plan, e);
}

int step_start(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	int rc;

	if (switch_active(st))
		return switch_step(ctx, st, plan, e);
	if (stop_active(st)) {
		rc = mask_step(ctx, st, plan, e);
		return rc ? rc
			  : err_set(e, EBUSY, "an overflow has masked it meanwhile: restart first");
	}
	if (transition_active(st))
		return settle(ctx, st, plan, go_on(ctx, st, plan, e));
	rc = start_check(ctx, cmd, e);
	if (rc < 0)
		return rc;
	if (ctx->state != CTX_RUNNING)
		return settle(ctx, st, plan, start_begin(ctx, cmd, st, plan, e));
	if (!cmd->has_set)
		return CORE_DONE;
	ctx->active->due = 0;
	return switch_begin(ctx, st, plan, ctx_set(ctx, cmd->set));
}

/* A switch that an overflow had made due before it was masked comes now. */
static int restart_begin(struct context *ctx, const struct command *cmd, struct step *st,
	struct plan *plan, struct err *e)
{
	struct evtset *from = ctx->active, *set = from->due ? from->next : from;

	evtset_save(set, from, &st->undo);
	evtset_reset_pending(set, RESET_LONG);
	if (from->due) {
		evtset_leave(from);
		evtset_activate(set);
		ctx->count.switches++;
	}
	ctx->active = set;
	return begin(ctx, cmd, st, plan, e);
}

int step_restart(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	if (transition_active(st))
		return settle(ctx, st, plan, go_on(ctx, st, plan, e));
	if (ctx->state == CTX_UNLOADED)
		return err_set(e, EINVAL, "not loaded: there is nothing to restart");
	if (ctx->state != CTX_MASKED)
		return err_set(e, EBUSY,
			"not masked: restart is for after the notification of an overflow");
	return settle(ctx, st, plan, restart_begin(ctx, cmd, st, plan, e));
}
