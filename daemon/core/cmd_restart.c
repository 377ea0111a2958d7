// SPDX-License-Identifier: MIT
/*
 * Start and restart (specification 3.1.5, 3.1.9): from counters that stand still to ones that
 * count. What activating a set and resetting PMDs change is kept until nothing can fail any more.
 */
#include "daemon/core/core_i.h"

static int start_check(const struct context *ctx, const struct command *cmd, struct err *e)
{
	if (ctx->state == CTX_UNLOADED)
		return not_loaded(ctx, "start", e);
	if (cmd->has_set && !ctx_set(ctx, cmd->set))
		return err_set(e, EINVAL, "no event set %u: make it first", cmd->set);
	if (ctx->state == CTX_MASKED)
		return err_set(e, EBUSY, "masked after an overflow: restart it, or stop first");
	if (ctx->hold->hw.halted)
		return err_set(e, EIO, "a stop or switch failed half-way: unload first");
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
		live_refresh(ctx, st->undo.set);
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
	if (!ctx_parked(ctx))
		return switch_begin(ctx, st, plan, ctx_set(ctx, cmd->set));
	switch_sets(ctx, ctx_set(ctx, cmd->set));
	return CORE_DONE;
}

static bool has_restart(const struct context *ctx)
{
	return ctx->smpl.fmt && ctx->smpl.fmt->fmt_restart;
}

/* What the format, if it wants to be asked, has to say about @ctrl. */
static int ask_format(struct context *ctx, bool active, pfm_ovfl_ctrl_t *ctrl, struct err *e)
{
	int rc;

	if (!has_restart(ctx))
		return 0;
	*ctrl = (pfm_ovfl_ctrl_t){0};
	rc = ctx->smpl.fmt->fmt_restart(ctx->smpl.buf, active, ctrl);
	return rc ? err_set(e, EIO, "format %s has failed to restart: stop, and read the buffer",
			    ctx->smpl.fmt->fmt_name)
		  : 0;
}

/* A switch that an overflow had made due before it was masked comes now. */
static int restart_begin(struct context *ctx, const struct command *cmd, struct step *st,
	struct plan *plan, bool resets, struct err *e)
{
	struct evtset *from = ctx->active, *set = from->due ? from->next : from;

	evtset_save(set, from, &st->undo);
	if (resets)
		evtset_reset_pending(set, RESET_LONG);
	if (from->due) {
		evtset_leave(from);
		evtset_activate(set);
		ctx->count.switches++;
	}
	ctx->active = set;
	return begin(ctx, cmd, st, plan, e);
}

static int restart_check(const struct context *ctx, struct err *e)
{
	if (ctx->state == CTX_UNLOADED)
		return not_loaded(ctx, "restart", e);
	if (ctx->state == CTX_MASKED || ctx->block ||
		(ctx->state == CTX_RUNNING && has_restart(ctx)))
		return 0;
	return err_set(
		e, EBUSY, "not masked: restart is for after the notification of an overflow");
}

/* While monitoring is active only the format has something to do, with counts as of now. */
static int restart_active(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	pfm_ovfl_ctrl_t ctrl = {0};

	if (switch_active(st))
		return switch_step(ctx, st, plan, e);
	if (stop_active(st))
		return mask_step(ctx, st, plan, e);
	if (look_at(ctx, st, plan, live_rows(ctx, ~0U)) == CORE_RUN)
		return CORE_RUN;
	overflow_settle(ctx, plan);
	if (ask_format(ctx, true, &ctrl, e) < 0)
		return -e->no;
	ctx->block = false;
	if (ctrl.mask_monitoring)
		ctx->mask_due |= MASK_NOTIFY;
	else if (ctrl.reset_ovfl_pmds)
		evtset_reset_pending(ctx->active, RESET_LONG);
	return look_act(ctx, st, plan);
}

int step_restart(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	pfm_ovfl_ctrl_t ctrl = {.reset_ovfl_pmds = 1};
	int rc;

	if (transition_active(st))
		return settle(ctx, st, plan, go_on(ctx, st, plan, e));
	rc = restart_check(ctx, e);
	if (rc < 0)
		return rc;
	if (ctx->state == CTX_RUNNING)
		return restart_active(ctx, st, plan, e);
	rc = ask_format(ctx, false, &ctrl, e);
	if (rc < 0 || ctrl.mask_monitoring)
		return rc;
	ctx->block = false;
	return settle(ctx, st, plan, restart_begin(ctx, cmd, st, plan, ctrl.reset_ovfl_pmds, e));
}
