// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/command_request.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/command/command.h"
#include "daemon/command/ioctl.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/notifier.h"
#include "daemon/fs/requests/smpl.h"

struct limits command_limits(const struct fs *fs)
{
	return (struct limits){
		.tick_ns = fs->config.tick_us * 1000,
		.timer_ns = fs->timer_ns,
		.overflow_rate_max = fs->config.overflow_rate_max,
		.ctxsw_budget = fs->config.ctxsw_budget,
	};
}

static void command_answer_read(struct command_request *r)
{
	TEXT_CLEANUP struct text out = {0};
	struct call *call = &r->request.call;
	struct job *job = &r->job;

	if (job->rc == 0)
		call->node.row->print(&job->cmd, &out);
	if (job->rc == 0 && job->cmd.verb == CMD_INFO) {
		atomic_store(&call->file->changes, job->cmd.info.changes);
		atomic_store(&call->file->read, true);
	}
	call_read_done(call, job->rc, &out, &job->err);
}

void command_answer_write(struct command_request *r)
{
	struct call *call = &r->request.call;

	if (r->job.rc == 0 && call->node.row->commit)
		call->node.row->commit(call->ctx, &r->job.cmd);
	call_write_done(call, r->job.rc, r->job.rc < 0 ? &r->job.err : &r->job.cmd.note);
}

const struct command_kind command_read = {.answer = command_answer_read};
const struct command_kind command_write = {.answer = command_answer_write};

static void command_finish(void *arg)
{
	struct command_request *r = arg;

	if (r->job.cmd.verb == CMD_LOAD)
		audit_load(&r->writer, r->request.call.ctx, &r->job.cmd, r->job.rc);
	if (r->kind->follow)
		r->kind->follow(r);
	if (request_end(&r->request))
		r->kind->answer(r);
	else if (r->kind->abandon)
		r->kind->abandon(r);
	context_unref(r->request.call.ctx);
	command_free(&r->job.cmd);
	free(r);
}

static void command_done(struct job *job)
{
	struct command_request *r = container_of(job, struct command_request, job);

	if (r->fence.s)
		shared_fence_order(&r->fence);
	else
		command_finish(r);
}

/* A thread that gets no signal must not get EINTR: the stop by the tracer waits for the answer. The
 * job's done() still follows, so @r stays allocated. */
static bool command_interrupt(struct request *base)
{
	struct command_request *r = container_of(base, struct command_request, request);

	if (engine_interrupts(base->call.fs->eng, &r->job) || !engine_cancel(&r->job))
		return false;
	request_remove(base);
	return true;
}

/* Whether the answer to @verb reports a state: a client that learns of a stop reads the buffer
 * next. */
static bool command_tells_state(enum cmd_verb verb)
{
	return verb == CMD_STOP || verb == CMD_UNLOAD || verb == CMD_RESTART || verb == CMD_INFO;
}

size_t command_bytes(const struct call *call, const struct command *cmd)
{
	const struct packet *p = call->packet;

	return sizeof(struct command_request) + cmd->vector.nregs * sizeof(cmd->vector.regs[0]) +
	       (p ? sizeof(*p) + p->size : 0) + 2 * CHARGE_PIECE;
}

/* Takes @cmd and the call's packet, unless it fails. */
static struct command_request *command_new_request(
	struct call *call, struct command *cmd, struct err *e)
{
	struct command_request *r = malloc(sizeof(*r)); /* calloc() is much slower */

	if (!r) {
		err_set(e, ENOMEM, "no memory for the command");
		return NULL;
	}
	cmd->limits = command_limits(call->fs);
	*r = (struct command_request){
		.job =
			{
				.ec = &call->ctx->ec,
				.cmd = *cmd,
				.pid = fuse_req_ctx(call->req)->pid,
				/* The session thread continues a packet of sets. */
				.session_done = call->packet && cmd->verb == CMD_EVTSET_READ,
				.done = command_done,
			},
		.writer = audit_writer(call, cmd),
	};
	if (request_begin(&r->request, call, command_bytes(call, cmd), command_interrupt, e) < 0) {
		free(r);
		return NULL;
	}
	if (r->writer.wanted)
		r->job.cmd.load.pmcs = &r->pmcs;
	context_ref(call->ctx);
	return r;
}

bool command_is_ready(const struct call *call, struct command *cmd)
{
	return cmd->verb != CMD_SIGNAL &&
	       caller_rights(call, caller_needs(call, cmd), &cmd->rights);
}

int command_await(struct call *call, struct command *cmd, struct err *e)
{
	if (cmd->verb == CMD_SIGNAL)
		return notifier_set(call, cmd, e);
	if (await_charge(call, command_bytes(call, cmd), e) < 0 ||
		caller_await_rights(call, caller_needs(call, cmd), &cmd->rights, e) < 0)
		return -e->no;
	return context_check_closed(call->ctx, e);
}

void command_fail(struct call *call, struct command *cmd, const struct err *e)
{
	command_free(cmd);
	free(call->packet);
	call_fail(call, e);
}

bool command_submit(
	struct call *call, struct command *cmd, const struct command_kind *kind, void *arg)
{
	struct shared *mem = smpl_memory(call->ctx);
	struct err e;
	struct command_request *r = command_new_request(call, cmd, &e);

	if (!r) {
		command_fail(call, cmd, &e);
		return false;
	}
	r->kind = kind;
	r->arg = arg;
	if (command_tells_state(cmd->verb) && shared_is_synced(mem)) {
		r->fence = (struct sync_fence){.after = command_finish, .arg = r};
		shared_fence_expect(mem, &r->fence);
	}
	if (cmd->verb == CMD_UNLOAD)
		audit_unload_asked(call->ctx, "command", call->req);
	engine_submit(call->fs->eng, &r->job);
	return true;
}

static void command_ignore_done(struct job *job)
{
	(void)job;
}

int command_exec(struct fs_context *ctx, const struct command *cmd, struct err *e)
{
	struct job job = {.ec = &ctx->ec, .cmd = *cmd, .done = command_ignore_done};

	engine_submit(ctx->objs->eng, &job);
	if (job.rc < 0)
		*e = job.err;
	return job.rc;
}
