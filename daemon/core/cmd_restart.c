// SPDX-License-Identifier: MIT
/* Restart (specification 3.1.9), after the notification of an overflow. */
#include "daemon/core/core_i.h"

static bool restart_has_hook(const struct context *ctx)
{
	return ctx->smpl.fmt && ctx->smpl.fmt->fmt_restart;
}

/* Calls the sampling format's restart hook, if there is one, to set @ctrl. Fails with EIO if the
 * hook fails. */
static int restart_call_format(
	struct context *ctx, bool active, pfm_ovfl_ctrl_t *ctrl, struct err *e)
{
	int rc;

	if (!restart_has_hook(ctx))
		return 0;
	*ctrl = (pfm_ovfl_ctrl_t){0};
	rc = ctx->smpl.fmt->fmt_restart(ctx->smpl.buf, active, ctrl);
	return rc ? err_set(e, EIO, "format %s could not restart: stop, and read the buffer",
			    ctx->smpl.fmt->fmt_name)
		  : 0;
}

static int restart_check(const struct context *ctx, struct err *e)
{
	if (ctx->state == CTX_UNLOADED)
		return ctx_not_loaded(ctx, "restart", e);
	if (ctx->state == CTX_MASKED || ctx->ovfl.block || ctx->active->pending ||
		restart_has_hook(ctx))
		return 0;
	return err_set(e, EBUSY,
		"nothing to restart: the context is not masked and no reset is pending; restart "
		"after the notification of an overflow");
}

/* While monitoring is active, a format's hook is called with current counts. Pending resets are
 * those that the format has put off, or that a stop has preceded. */
static int restart_running(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;
	pfm_ovfl_ctrl_t ctrl = {.reset_ovfl_pmds = 1};

	read_counters(run, PMU_ALL_ROWS);
	account_overflows(run);
	if (restart_call_format(ctx, true, &ctrl, e) < 0)
		return -e->no;
	ctx->ovfl.block = false;
	if (ctrl.mask_monitoring)
		ctx->ovfl.mask_due |= MASK_NOTIFY;
	/* Overflows that this reading has found are not reset if they mask, or before their set is
	 * left. */
	if (ctrl.reset_ovfl_pmds && !ctx->ovfl.mask_due && !ctx->active->due)
		evtset_reset_pending(ctx->active, RESET_LONG);
	return overflow_act(run, e);
}

/* After stop: monitoring stays stopped, and a switch that is due waits for start. */
static int restart_stopped(struct context *ctx, bool resets)
{
	if (resets)
		evtset_reset_pending(ctx->active, RESET_LONG);
	return 0;
}

/* A switch that an overflow made due before it masked the context happens now. */
static int restart_masked(
	struct core_run *run, const struct command *cmd, bool resets, struct err *e)
{
	struct context *ctx = run->ctx;
	struct evtset *from = ctx->active, *set = from->due ? from->next : from;

	evtset_save(set, from, &run->undo.sets);
	if (resets)
		evtset_reset_pending(set, RESET_LONG);
	if (from->due) {
		evtset_leave(from);
		evtset_activate(set);
		ctx->count.switches++;
	}
	ctx->active = set;
	return start_counters(run, &cmd->limits, e);
}

int cmd_restart(struct core_run *run, const struct command *cmd, struct err *e)
{
	struct context *ctx = run->ctx;
	pfm_ovfl_ctrl_t ctrl = {.reset_ovfl_pmds = 1};

	if (restart_check(ctx, e) < 0)
		return -e->no;
	if (ctx->state == CTX_RUNNING)
		return restart_running(run, e);
	if (restart_call_format(ctx, false, &ctrl, e) < 0)
		return -e->no;
	if (ctrl.mask_monitoring)
		return 0;
	if (ctx->state == CTX_LOADED)
		return restart_stopped(ctx, ctrl.reset_ovfl_pmds);
	ctx->ovfl.block = false;
	return restart_masked(run, cmd, ctrl.reset_ovfl_pmds, e);
}
