// SPDX-License-Identifier: MIT
/* The core's door: which file takes which command. */
#include "daemon/core/core_i.h"

static int check_flags(const struct context *ctx, unsigned flags, struct err *e)
{
	if (ctx->ever_loaded)
		return err_set(
			e, EBUSY, "flags are settled by the first load: make another context");
	if ((flags & CTX_SYSTEM_WIDE) && (flags & CTX_NOTIFY_BLOCK))
		return err_set(e, EINVAL, "notify_block is for threads: it excludes system_wide");
	return 0;
}

static int check_format(const struct context *ctx, const struct sampling *smpl, struct err *e)
{
	if (ctx->ever_loaded)
		return err_set(
			e, EBUSY, "the format is settled by the first load: make another context");
	if (smpl->fmt && (smpl->fmt->fmt_flags & PFM_FMTFL_NOSET) && ctx->nsets > 1)
		return err_set(e, EINVAL,
			"format %s cannot handle event sets: rmdir all but set 0, or choose "
			"another format",
			smpl->fmt->fmt_name);
	return 0;
}

/*
 * CMD_FLAGS, CMD_FORMAT, or CMD_SETUP, which is both of them and gives the context its type, so
 * that it is here that access is controlled (3.1.16). Otherwise it has none until it is loaded.
 */
static int set_up(struct context *ctx, const struct command *cmd, struct err *e)
{
	bool flags = cmd->verb != CMD_FORMAT, format = cmd->verb != CMD_FLAGS;

	if (flags && check_flags(ctx, cmd->flags, e) < 0)
		return -e->no;
	if (cmd->verb == CMD_SETUP &&
		rights_check(&cmd->rights, cmd->flags & CTX_SYSTEM_WIDE, e) < 0)
		return -e->no;
	if (format && check_format(ctx, &cmd->smpl, e) < 0)
		return -e->no;
	if (flags)
		ctx->flags = cmd->flags;
	if (format)
		ctx->smpl = cmd->smpl;
	return CORE_DONE;
}

static int info(const struct context *ctx, struct ctx_info *out)
{
	*out = (struct ctx_info){
		.state = ctx->state,
		.throttled = ctx->throttled,
		.flags = ctx->flags,
		.cpu = ctx->cpu,
		.tid = ctx->tid,
		.ended = ctx->ended,
		.set = ctx->active->id,
		.changes = ctx->count.changes,
	};
	return CORE_DONE;
}

static int take_messages(struct context *ctx, struct command *cmd, struct err *e)
{
	cmd->nmsgs = messages_take(&ctx->messages, cmd->msgs, cmd->nmsgs);
	return cmd->nmsgs ? CORE_DONE : err_set(e, EAGAIN, "no message is waiting");
}

void ctx_set_state(struct context *ctx, enum ctx_state state)
{
	bool throttled = state == CTX_MASKED && (ctx->mask_due & MASK_THROTTLE);

	if (ctx->state != state || ctx->throttled != throttled)
		ctx->count.changes++;
	ctx->state = state;
	ctx->throttled = throttled;
}

void step_begin(struct step *st)
{
	st->phase = PHASE_START;
	st->element = 0;
	st->moves = false;
	st->masking = st->unseen = false;
	st->to = NULL;
	st->blame = 0;
	st->give_back = 0;
	st->err.no = 0;
}

void step_quiet(struct step *st)
{
	step_begin(st);
	st->phase = PHASE_QUIET;
	st->moves = true;
}

int core_step(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	switch (cmd->verb) {
	case CMD_LOAD:
		return step_load(ctx, cmd, st, plan, e);
	case CMD_UNLOAD:
	case CMD_DESTROY:
		return step_unload(ctx, st, plan, e);
	case CMD_END:
		return step_end(ctx, st, plan, e);
	case CMD_CLONE:
		cmd->into->flags = ctx->flags;
		/* A thread may end before its child is known of. */
		cmd->info.state = ctx->ended ? ctx->ended_as : ctx->state;
		cmd->info.ended = ctx->ended;
		return sets_copy(cmd->into, ctx, e);
	case CMD_START:
		return step_start(ctx, cmd, st, plan, e);
	case CMD_STOP:
		return step_stop(ctx, st, plan, e);
	case CMD_WRITE:
		return step_write(ctx, cmd, st, plan, e);
	case CMD_READ:
		return step_read(ctx, cmd, st, plan, e);
	case CMD_FLAGS:
	case CMD_FORMAT:
	case CMD_SETUP:
		return set_up(ctx, cmd, e);
	case CMD_INFO:
		return info(ctx, &cmd->info);
	case CMD_RESTART:
		return step_restart(ctx, cmd, st, plan, e);
	case CMD_EVTSET_NEW:
		return set_new(ctx, &cmd->evtset, &cmd->limits, e);
	case CMD_EVTSET_DELETE:
		return set_delete(ctx, &cmd->evtset, e);
	case CMD_EVTSET_WRITE:
		return set_write(ctx, &cmd->evtset, &cmd->limits, e);
	case CMD_EVTSET_READ:
		return set_read(ctx, &cmd->evtset, plan->at, e);
	case CMD_LIVE:
		return live_set(ctx, cmd, e);
	case CMD_LIVE_READ:
		return step_live_read(ctx, cmd, st, plan, e);
	case CMD_MESSAGES:
		return take_messages(ctx, cmd, e);
	case CMD_IN:
		return step_in(ctx, st, plan, e);
	case CMD_OUT:
		return step_out(ctx, cmd, st, plan);
	case CMD_POLL:
	case CMD_SWITCH:
		return step_poll(ctx, cmd, st, plan, e);
	case CMD_SIGNAL:
		break;
	}
	return err_set(e, EINVAL, "no such command");
}
