// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/msg_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/pending_request.h"
#include "daemon/fs/requests/smpl.h"
#include "daemon/fs/requests/watermarks.h"

/* A waiting read. Its open file and context exist until it is answered. */
struct reader {
	struct request request;
	/* A fence before the answer, if the buffer is synced. */
	struct sync_fence fence;
	bool nonblock;
	/* Link in fs_context.readers. */
	struct list_head queue;
	/* Messages that the reader has taken: the answer, which waits for @fence. */
	unsigned n;
	/* Messages for which @msgs has memory. */
	unsigned room;
	struct pfm_msg msgs[];
};

/* A reader that has taken messages is answered with them, interrupted or not. */
static bool reader_interrupt(struct request *base)
{
	struct reader *r = container_of(base, struct reader, request);

	if (r->n)
		return false;
	request_remove(base);
	list_del(&r->queue);
	request_uncharge(base);
	free(r);
	return true;
}

static int reader_new(struct call *call, unsigned room, bool nonblock, struct err *e)
{
	struct reader *r;
	size_t size = sizeof(*r) + room * sizeof(r->msgs[0]);

	r = calloc(1, size);
	if (!r)
		return err_set(e, ENOMEM, "no memory");
	if (request_begin(&r->request, call, size, reader_interrupt, e) < 0) {
		free(r);
		return -e->no;
	}
	r->room = room;
	r->nonblock = nonblock;
	list_add_tail(&r->queue, &call->ctx->readers);
	return 0;
}

static struct reader *reader_first(const struct fs_context *ctx)
{
	return list_first_entry_or_null(&ctx->readers, struct reader, queue);
}

static void reader_free(struct reader *r)
{
	list_del(&r->queue);
	request_end(&r->request);
	free(r);
}

/* Answers with an errno; last_error stays as it is. */
static void reader_dismiss(struct reader *r, int no)
{
	fuse_reply_err(r->request.call.req, no);
	reader_free(r);
}

/* Answers with the end of the file: the context is gone. Programs of perfmon2's time know no end of
 * a clone. */
static void reader_dismiss_closed(struct reader *r)
{
	r->request.call.ctx->msgs_ended = true;
	if (row_has(r->request.call.node.row, ROW_CLONE)) {
		reader_dismiss(r, ENODEV);
		return;
	}
	fuse_reply_buf(r->request.call.req, NULL, 0);
	reader_free(r);
}

static void reader_dismiss_nonblocking(struct fs_context *ctx)
{
	struct reader *r, *next;

	list_for_each_entry_safe (r, next, &ctx->readers, queue)
		if (r->nonblock)
			reader_dismiss(r, EAGAIN);
}

/* Answers with lines that an earlier read of the open file left. Returns false, with no answer, if
 * there are none. */
static bool reader_read_rest(struct call *call)
{
	return !row_has(call->node.row, ROW_CLONE) && call_read_left(call);
}

/* Gives the lines that a read of an open file has left to that file's next read, wherever it is in
 * the queue. */
static void reader_reply_rest(struct fs_context *ctx, const struct file *f)
{
	struct reader *r, *next;

	list_for_each_entry_safe (r, next, &ctx->readers, queue)
		if (r->request.call.file == f && reader_read_rest(&r->request.call))
			reader_free(r);
}

static void reader_answer(struct reader *r)
{
	struct call *call = &r->request.call;
	struct fs_context *ctx = call->ctx;
	const struct file *f = call->file;

	call->node.row->reply(call, r->msgs, r->n);
	reader_free(r);
	reader_reply_rest(ctx, f);
}

static bool reader_take(struct fs_context *ctx, struct reader *r)
{
	struct messages *q = &ctx->ec.ctx.messages;

	/* Unloading a removed context may make messages after that. */
	if (ctx->msgs_ended)
		return false;
	r->n = messages_take(q, r->msgs, r->room);
	if (!r->n && !r->nonblock && !ctx->closed) {
		engine_watch(r->request.call.fs->eng, &ctx->ec);
		/* Messages that arrived before the watch are not reported. */
		r->n = messages_take(q, r->msgs, r->room);
	}
	return r->n;
}

static void reader_fence_done(void *arg);

/* Answers readers until one has to wait, for messages or for its fence. */
void messages_wake(struct fs_context *ctx)
{
	struct reader *r;

	while ((r = reader_first(ctx)) && !r->n) {
		if (!reader_take(ctx, r)) {
			if (!r->nonblock && !ctx->closed) {
				reader_dismiss_nonblocking(ctx);
				return;
			}
			if (ctx->closed)
				reader_dismiss_closed(r);
			else
				reader_dismiss(r, EAGAIN);
		} else if (watermark_is_behind(ctx)) {
			/* The buffer must show what a message reports before the message is read.
			 */
			r->fence = (struct sync_fence){.after = reader_fence_done, .arg = r};
			shared_fence(smpl_memory(ctx), &r->fence);
		} else {
			reader_answer(r);
		}
	}
}

static void reader_fence_done(void *arg)
{
	struct reader *r = arg;
	struct fs_context *ctx = r->request.call.ctx;

	reader_answer(r);
	messages_wake(ctx);
}

void messages_read(struct call *call, bool nonblock)
{
	struct err e;
	int room;

	if (reader_read_rest(call))
		return;
	room = call->node.row->room(call, &e);
	if (room < 0 || reader_new(call, (unsigned)room, nonblock, &e) < 0)
		call_fail(call, &e);
	else
		messages_wake(call->ctx);
}
