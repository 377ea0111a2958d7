// SPDX-License-Identifier: MIT
/*
 * Reads of a context's messages: first come, first served. Only the first asks the context's
 * owner; as long as it is told that there is nothing, nobody else need ask. All of this is the
 * session thread's, so a reader that is interrupted, or whose context is removed, can be answered
 * at any time but while it asks: then its answer is about to come.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <stdlib.h>

/* Its open file is there until it has been answered, and so is its context. */
struct reader {
	struct job job;
	struct call call;
	struct publication publication; /* comes before the answer, if need be */
	uint64_t id;
	unsigned room; /* how many messages it takes */
	bool nonblock, interrupted;
	struct reader *next;          /* in the context */
	struct reader *all, **all_at; /* of all contexts, for interrupts */
};

static struct reader *reader_new(struct call *call, bool nonblock)
{
	struct fs *fs = call->fs;
	struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->call = *call;
	r->nonblock = nonblock;
	r->id = request_id(fs);
	r->all = fs->readers;
	r->all_at = &fs->readers;
	if (r->all)
		r->all->all_at = &r->all;
	fs->readers = r;
	return r;
}

static void reader_free(struct reader *r)
{
	*r->all_at = r->all;
	if (r->all)
		r->all->all_at = r->all_at;
	command_free(&r->job.cmd);
	free(r);
}

/* Takes the reader that @at points to out of its context's queue. */
static struct reader *leave(struct fs_context *ctx, struct reader **at)
{
	struct reader *r = *at;

	*at = r->next;
	if (ctx->readers_end == &r->next)
		ctx->readers_end = at;
	if (!ctx->readers)
		ctx->dry = false;
	return r;
}

/* It waits no more; last_error stays as it is. */
static void dismiss(struct fs_context *ctx, struct reader **at, int no)
{
	struct reader *r = leave(ctx, at);

	fuse_reply_err(r->call.req, no);
	reader_free(r);
}

/* What one read of an open file leaves is for the next one of it, wherever that stands. */
static void give_left(struct fs_context *ctx, const struct file *f)
{
	struct reader **at = &ctx->readers;

	while (*at) {
		struct reader *r = *at;

		if (r->call.file == f && events_give_left(&r->call))
			reader_free(leave(ctx, at));
		else
			at = &r->next;
	}
}

/* True if it stays the first, until there is something. */
static bool waits(struct fs_context *ctx, const struct reader *r)
{
	if (r->job.rc != -EAGAIN || r->nonblock || r->interrupted || ctx->closed)
		return false;
	engine_watch(r->call.fs->eng, &ctx->tenant);
	/* What came before that has not been told. */
	ctx->dry = !atomic_load(&ctx->tenant.queued);
	return true;
}

static void answer(struct fs_context *ctx, struct reader *r)
{
	struct job *job = &r->job;

	if (job->rc == 0)
		r->call.node.row->give(&r->call, &job->cmd);
	else if (r->interrupted)
		fuse_reply_err(r->call.req, EINTR);
	else if (ctx->closed)
		fuse_reply_err(r->call.req, ENODEV);
	else if (job->rc == -EAGAIN)
		fuse_reply_err(r->call.req, EAGAIN);
	else
		call_fail(&r->call, &job->err);
}

static void ask_on(struct fs_context *ctx);

/* Nothing is there: those who do not want to wait need not ask. */
static void dismiss_nonblocking(struct fs_context *ctx)
{
	struct reader **at = &ctx->readers;

	while (*at) {
		if ((*at)->nonblock)
			dismiss(ctx, at, EAGAIN);
		else
			at = &(*at)->next;
	}
}

static void finish(void *arg)
{
	struct reader *r = arg;
	struct fs_context *ctx = r->call.ctx;
	const struct file *f = r->call.file;

	ctx->asking = false;
	leave(ctx, &ctx->readers);
	answer(ctx, r);
	reader_free(r);
	give_left(ctx, f);
	ask_on(ctx);
}

static void reader_done(struct job *job)
{
	struct reader *r = link_entry(job, struct reader, job);
	struct fs_context *ctx = r->call.ctx;

	if (waits(ctx, r)) {
		ctx->asking = false;
		if (ctx->dry)
			dismiss_nonblocking(ctx);
		ask_on(ctx);
	} else if (job->rc == 0 && context_untold(ctx)) {
		/* What a message tells of must be in the buffer when it is read. */
		r->publication = (struct publication){.after = finish, .arg = r};
		shared_publish(context_memory(ctx), &r->publication);
	} else {
		finish(r);
	}
}

static void ask(struct fs_context *ctx, struct reader *r)
{
	struct command cmd = r->job.cmd;

	cmd.verb = CMD_MESSAGES;
	cmd.nmsgs = r->room;
	cmd.limits = limits_of(r->call.fs);
	r->job = (struct job){.tenant = &ctx->tenant, .cmd = cmd, .done = reader_done};
	ctx->asking = true;
	engine_submit(r->call.fs->eng, &r->job);
}

/* The answer may come at once: this is a loop, so as not to become a recursion. */
static void ask_on(struct fs_context *ctx)
{
	if (ctx->pumping)
		return;
	ctx->pumping = true;
	while (ctx->readers && !ctx->asking && !ctx->dry)
		ask(ctx, ctx->readers);
	ctx->pumping = false;
}

void messages_read(struct call *call, bool nonblock)
{
	struct fs_context *ctx = call->ctx;
	struct command cmd = {0};
	struct reader *r;
	struct err e;

	if (events_give_left(call))
		return;
	if (nonblock && ctx->dry) {
		fuse_reply_err(call->req, EAGAIN);
		return;
	}
	if (call->node.row->ask(call, &cmd, &e) < 0) {
		call_fail(call, &e);
		return;
	}
	r = reader_new(call, nonblock);
	if (!r) {
		command_free(&cmd);
		fuse_reply_err(call->req, ENOMEM);
		return;
	}
	r->job.cmd = cmd;
	r->room = cmd.nmsgs;
	*ctx->readers_end = r;
	ctx->readers_end = &r->next;
	request_interruptible(call->req, r->id);
	ask_on(ctx);
}

void messages_wake(struct fs_context *ctx)
{
	ctx->dry = false;
	ask_on(ctx);
}

void messages_close(struct fs_context *ctx)
{
	struct reader **at = &ctx->readers;

	if (ctx->asking)
		at = &ctx->readers->next;
	while (*at)
		dismiss(ctx, at, ENODEV);
}

/* The first one, while it asks, is answered when it has been told: EINTR if that is nothing. */
static void interrupt(struct reader *r)
{
	struct fs_context *ctx = r->call.ctx;
	struct reader **at = &ctx->readers;

	if (ctx->asking && r == ctx->readers) {
		r->interrupted = true;
		engine_cancel(&r->job);
		return;
	}
	while (*at != r)
		at = &(*at)->next;
	dismiss(ctx, at, EINTR);
}

bool messages_interrupt(struct fs *fs, uint64_t id)
{
	struct reader *r = fs->readers;

	while (r && r->id != id)
		r = r->all;
	if (r)
		interrupt(r);
	return r;
}
