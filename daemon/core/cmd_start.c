// SPDX-License-Identifier: MIT
/* Start (specification 3.1.5): activates the set and enables the counters; all or nothing. */
#include "daemon/core/core_i.h"

static int start_check(const struct context *ctx, const struct command *cmd, struct err *e)
{
	if (ctx->state == CTX_UNLOADED)
		return ctx_not_loaded(ctx, "start", e);
	if (cmd->has_set && !ctx_set(ctx, cmd->set))
		return err_set(e, EINVAL, "no event set %u: make it first", cmd->set);
	if (ctx->state == CTX_MASKED)
		return err_set(e, EBUSY,
			"an overflow has masked the context: restart it, or stop it first");
	if (ctx->res->hw.halted)
		return err_set(e, EIO, "an earlier stop or switch failed half-way: unload first");
	return rights_check_kernel(ctx, &cmd->rights, e);
}

static int start_failed(struct core_run *run, int rc)
{
	struct context *ctx = run->ctx;
	const struct evtset_undo *undo = &run->undo.sets;

	evtset_restore(undo);
	ctx->active = undo->from;
	live_refresh(ctx, undo->set);
	return rc;
}

int start_counters(struct core_run *run, const struct limits *limits, struct err *e)
{
	struct context *ctx = run->ctx;
	struct image to;
	int rc;

	run->undo.kind = UNDO_START;
	run->undo.sets.state = ctx->state;
	run->undo.sets.throttled = ctx->ovfl.throttled;
	run->undo.sets.began = ctx->clock.began;
	ctx->limits = *limits;
	image_of(ctx->pmu, ctx->active->pmc, true, &to);
	rc = transition(run, &to, true, e);
	if (rc < 0)
		return start_failed(run, rc);
	ctx->clock.since = run->now;
	ctx->gap.open = false;
	if (ctx->state == CTX_LOADED)
		ctx->clock.began = run->clock;
	ctx_set_state(ctx, CTX_RUNNING);
	return rc;
}

int start_last_failed(struct core_run *run, struct err *e)
{
	ctx_set_state(run->ctx, run->undo.sets.state);
	run->ctx->ovfl.throttled = run->undo.sets.throttled;
	run->ctx->clock.began = run->undo.sets.began;
	return start_failed(run, transition_last_failed(run, e));
}

/* Starts a running context in @set, by a switch. */
static int start_running(struct core_run *run, struct evtset *set, struct err *e)
{
	struct context *ctx = run->ctx;
	int rc;

	ctx->active->due = 0;
	if (ctx_saved(ctx)) {
		switch_activate(ctx, set);
		return 0;
	}
	rc = switch_sets(run, set, e);
	if (rc == 0 && ctx->state == CTX_MASKED)
		return err_set(
			e, EBUSY, "an overflow has masked the context meanwhile: restart first");
	return rc;
}

static int start_set(
	struct core_run *run, const struct command *cmd, struct evtset *set, struct err *e)
{
	struct context *ctx = run->ctx;

	if (ctx->state == CTX_RUNNING)
		return cmd->has_set ? start_running(run, set, e) : 0;
	evtset_save(set, ctx->active, &run->undo.sets);
	if (cmd->has_set) {
		ctx->active->due = 0;
		evtset_reset_pending(set, RESET_SHORT);
		evtset_activate(set);
	}
	ctx->active = set;
	return start_counters(run, &cmd->limits, e);
}

/* Starting the set that is active already does not count as another run of it, as in kernels. */
int cmd_start(struct core_run *run, struct command *cmd, struct err *e)
{
	struct evtset *was = run->ctx->active, *set;
	uint64_t runs = was->runs;
	int rc;

	if (start_check(run->ctx, cmd, e) < 0)
		return -e->no;
	set = cmd->has_set ? ctx_set(run->ctx, cmd->set) : was;
	if (run->ctx->state != CTX_RUNNING || cmd->has_set)
		note_start(run->ctx, set, &cmd->note);
	rc = start_set(run, cmd, set, e);
	if (set == was)
		set->runs = runs;
	return rc;
}
