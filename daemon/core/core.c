// SPDX-License-Identifier: MIT
/* Dispatches each command to its function. Short commands are implemented here. */
#include "daemon/core/core.h"

#include "daemon/core/core_i.h"

static int core_check_flags(const struct context *ctx, unsigned flags, struct err *e)
{
	if (ctx->past.loaded)
		return err_set(
			e, EBUSY, "flags cannot change after the first load: make another context");
	if ((flags & CTX_BACKGROUND) && (flags & (CTX_NOTIFY_BLOCK | CTX_RAW | CTX_GAPS)))
		return err_set(e, EINVAL,
			"background is for CPUs, and notify_block, raw and gaps are for threads: "
			"leave out one or the others");
	if ((flags & CTX_SYSTEM_WIDE) && (flags & CTX_NOTIFY_BLOCK))
		return err_set(e, EINVAL,
			"notify_block is for threads, and system_wide is for CPUs: leave one out");
	return 0;
}

static int core_check_format(const struct context *ctx, const struct sampling *smpl, struct err *e)
{
	if (ctx->smpl.in_clone && !smpl->in_clone)
		return err_set(
			e, EBUSY, "PFM_IOC_SETUP has chosen the format of this clone: use that");
	if (ctx->past.loaded)
		return err_set(e, EBUSY,
			"the format cannot change after the first load: make another context");
	if (smpl->fmt && (smpl->fmt->fmt_flags & PFM_FMTFL_NOSET) && ctx->nsets > 1)
		return err_set(e, EINVAL,
			"format %s cannot handle event sets: rmdir all but set 0, or choose "
			"another format",
			smpl->fmt->fmt_name);
	return 0;
}

/*
 * CMD_FLAGS, CMD_FORMAT, or CMD_SETUP, which is both and also decides whether the context is for
 * CPUs or for threads. So CMD_SETUP checks rights (3.1.16), as load does otherwise.
 */
static int core_set_up(struct context *ctx, const struct command *cmd, struct err *e)
{
	bool flags = cmd->verb != CMD_FORMAT, format = cmd->verb != CMD_FLAGS;

	if (flags && core_check_flags(ctx, cmd->setup.flags, e) < 0)
		return -e->no;
	if (flags && (cmd->setup.flags & CTX_BACKGROUND) && !cmd->rights.system)
		return err_set(e, EPERM,
			"background is for root and members of the group in config/sys_group");
	if (cmd->verb == CMD_SETUP &&
		rights_check(&cmd->rights, cmd->setup.flags & CTX_SYSTEM_WIDE, e) < 0)
		return -e->no;
	if (format && core_check_format(ctx, &cmd->setup.smpl, e) < 0)
		return -e->no;
	if (flags)
		ctx->flags = cmd->setup.flags;
	if (format)
		ctx->smpl = cmd->setup.smpl;
	return 0;
}

static int core_info(const struct context *ctx, struct ctx_info *out)
{
	*out = (struct ctx_info){
		.state = ctx->state,
		.throttled = ctx->ovfl.throttled,
		.lost = ctx->nlost > 0,
		.yielded = ctx->yielded,
		.gaps = ctx->gap.count,
		.flags = ctx->flags,
		.cpu = ctx->target.cpu,
		.tid = ctx->target.tid,
		.ended = ctx->target.ended,
		.set = ctx->active->id,
		.changes = ctx->count.changes,
	};
	return 0;
}

/* Configures @into like this context, and returns this context's state or, if its thread has ended,
 * the state at that time. */
static int core_clone(const struct context *ctx, struct command *cmd, struct err *e)
{
	cmd->into->flags = ctx->flags;
	/* A thread may end before its child is noticed. */
	cmd->info.state = ctx->target.ended ? ctx->target.ended_as : ctx->state;
	cmd->info.ended = ctx->target.ended;
	return sets_copy(cmd->into, ctx, e);
}

static int core_dispatch(struct core_run *run, struct command *cmd, struct err *e)
{
	struct context *ctx = run->ctx;

	switch (cmd->verb) {
	case CMD_LOAD:
		return cmd_load(run, cmd, e);
	case CMD_UNLOAD:
	case CMD_DESTROY:
		return cmd_unload(run, cmd->verb == CMD_UNLOAD, e);
	case CMD_END:
		return cmd_end(run, e);
	case CMD_CLONE:
		return core_clone(ctx, cmd, e);
	case CMD_START:
		return cmd_start(run, cmd, e);
	case CMD_STOP:
		return cmd_stop(run, e);
	case CMD_RESTART:
		return cmd_restart(run, cmd, e);
	case CMD_WRITE:
		return cmd_write(run, cmd, e);
	case CMD_READ:
		return cmd_read(run, cmd, e);
	case CMD_FLAGS:
	case CMD_FORMAT:
	case CMD_SETUP:
		return core_set_up(ctx, cmd, e);
	case CMD_INFO:
		return core_info(ctx, &cmd->info);
	case CMD_EVTSET_NEW:
		return set_new(ctx, &cmd->evtset, &cmd->limits, e);
	case CMD_EVTSET_DELETE:
		return set_delete(ctx, &cmd->evtset, e);
	case CMD_EVTSET_WRITE:
		return set_write(ctx, &cmd->evtset, &cmd->limits, e);
	case CMD_EVTSET_READ:
		return set_read(ctx, &cmd->evtset, run->now, e);
	case CMD_LIVE:
		return cmd_live(ctx, cmd, e);
	case CMD_LIVE_READ:
		return cmd_live_read(run, cmd, e);
	case CMD_COUNTS:
		return cmd_counts(run, cmd);
	case CMD_THREADS:
		return cmd_threads(run, cmd, e);
	case CMD_POLL:
		return cmd_poll(run, e);
	case CMD_SWITCH:
		return cmd_switch(run, e);
	case CMD_YIELD:
		return cmd_yield(run);
	case CMD_RESUME:
		return cmd_resume(run, e);
	case CMD_SCHED_IN:
		return cmd_sched_in(run, e);
	case CMD_SCHED_OUT:
		return cmd_sched_out(run, cmd);
	case CMD_SIGNAL:
		break;
	}
	return err_set(e, EINVAL, "this command does not exist");
}

/* @was: the set that was active when the command began. */
static void core_end(struct core_run *run, struct evtset *was)
{
	if (run->moved && ctx_counts_now(run->ctx))
		freeze_plan(run->ctx, &run->freeze);
	live_end(run->ctx, was);
}

int core_command(struct core_run *run, struct context *ctx, struct command *cmd, struct err *e)
{
	struct evtset *was = ctx->active;
	int rc;

	run->ctx = ctx;
	run->frozen = command_freezes(cmd->verb) && ctx_counts_now(ctx);
	run->moved = false;
	run->foreign_global = 0;
	run->conflict.addr = 0;
	virtuals_begin(run, cmd);
	live_begin(ctx);
	plan_fetch(run, virtuals_needed(ctx, cmd));
	run->begun = run->now;
	rc = core_dispatch(run, cmd, e);
	if (rc != CORE_LAST && ctx_counts_now(ctx))
		buffers_write(run);
	core_end(run, was);
	return rc;
}

int core_last_failed(struct core_run *run, struct err *e)
{
	struct evtset *was = run->ctx->active;
	int rc = 0;

	live_begin(run->ctx);
	switch (run->undo.kind) {
	case UNDO_START:
		rc = start_last_failed(run, e);
		break;
	case UNDO_SWITCH:
		rc = switchover_last_failed(run, e);
		break;
	case UNDO_SCHED_IN:
		rc = sched_in_last_failed(run, e);
		break;
	case UNDO_RESUME:
		rc = resume_last_failed(run, e);
		break;
	}
	core_end(run, was);
	return rc;
}
