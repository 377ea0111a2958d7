// SPDX-License-Identifier: MIT
/*
 * poll(), select() and epoll. The kernel asks for the state of an open file and gives a handle
 * by which to tell that it is worth asking again. One handle per open file is enough: it wakes
 * all who wait for that file, and each of them asks anew and so gives a new one.
 */
#include "daemon/fs/fs_i.h"

#include <poll.h>

void poller_forget(struct file *f)
{
	if (!f->poll)
		return;
	fuse_pollhandle_destroy(f->poll);
	f->poll = NULL;
	*f->poll_at = f->poll_next;
	if (f->poll_next)
		f->poll_next->poll_at = f->poll_at;
}

/* What has been told to those who poll. */
static void note_told(struct fs_context *ctx)
{
	ctx->told_notified = ctx->known_notified;
	ctx->told_changes = ctx->known_changes;
}

static void remember(struct fs *fs, struct file *f, struct fuse_pollhandle *ph)
{
	struct fs_context *ctx = f->ctx;

	poller_forget(f);
	if (!ctx) { /* nothing ever happens to it */
		fuse_pollhandle_destroy(ph);
		return;
	}
	context_untold(ctx); /* what may be told at once is known */
	if (!ctx->pollers)
		note_told(ctx); /* for nobody has listened */
	f->poll = ph;
	f->poll_at = &ctx->pollers;
	f->poll_next = ctx->pollers;
	if (f->poll_next)
		f->poll_next->poll_at = &f->poll_next;
	ctx->pollers = f;
	if (f->node.row->news)
		engine_watch(fs->eng, &ctx->tenant);
}

static void wake(struct file *f)
{
	fuse_lowlevel_notify_poll(f->poll); /* ENOENT: nobody waits any more */
	poller_forget(f);
}

/* Text can be read and written at any time, messages when there are some. */
static unsigned state_of(const struct file *f)
{
	const struct row *row = f->node.row;
	unsigned state = row->news && !context_untold(f->ctx) ? row->news(f) : 0;

	if (!row->give)
		state |= POLLIN | POLLRDNORM;
	if (row->mode & 0222)
		state |= POLLOUT | POLLWRNORM;
	return state;
}

/* The handle first, then the look: what happens in between is not lost. */
void fs_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *ph)
{
	struct fs *fs = fuse_req_userdata(req);
	struct file *f = (struct file *)(uintptr_t)fi->fh;
	struct call call;

	fs->requests++;
	if (node_call(fs, req, ino, &call) < 0 ||
		(f->ctx && f->ctx->closed && f->node.row->clone)) {
		if (ph)
			fuse_pollhandle_destroy(ph);
		fuse_reply_poll(req, POLLERR | POLLHUP);
		return;
	}
	if (ph)
		remember(fs, f, ph);
	if (call.ctx && context_untold(call.ctx))
		context_announce(call.ctx);
	fuse_reply_poll(req, state_of(f));
}

/* What was told is not told again for something else: to epoll, each wake is an event. */
void pollers_wake(struct fs_context *ctx)
{
	bool notified = ctx->told_notified != ctx->known_notified;
	bool changed = ctx->told_changes != ctx->known_changes;
	struct file *next;

	note_told(ctx);
	for (struct file *f = ctx->pollers; f; f = next) {
		const struct row *row = f->node.row;

		next = f->poll_next;
		if (row->news && (row->give ? notified : changed) && row->news(f))
			wake(f);
	}
}

void pollers_close(struct fs_context *ctx, uint64_t serial)
{
	struct file *next;

	for (struct file *f = ctx->pollers; f; f = next) {
		next = f->poll_next;
		if (serial == ctx->self.serial || serial == f->node.serial)
			wake(f);
	}
}
