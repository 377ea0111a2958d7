// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/poller.h"

#include <poll.h>

#include "daemon/fs/requests/watermarks.h"

/* The most pollers of a context: each wake-up is a system call, and one event wakes them all. */
enum { POLLERS_MAX = 128 };

static void poller_wake_file(struct file *f)
{
	fuse_lowlevel_notify_poll(f->poll); /* ENOENT: no process waits any more */
	file_forget_poll(f);
}

/* Links @f. If there are too many pollers, the oldest is woken early: it asks again, and waits
 * again. */
static void poller_link(struct fs_context *ctx, struct file *f)
{
	if (ctx->notify.npollers == POLLERS_MAX)
		poller_wake_file(list_entry(ctx->notify.pollers.prev, struct file, poll_link));
	list_add(&f->poll_link, &ctx->notify.pollers);
	ctx->notify.npollers++;
}

void poller_add(struct fs *fs, struct file *f, struct fuse_pollhandle *ph)
{
	struct fs_context *ctx = f->ctx;

	file_forget_poll(f);
	if (!ctx) { /* no event ever happens to the file */
		fuse_pollhandle_destroy(ph);
		return;
	}
	watermark_is_behind(ctx); /* raises the visible watermark if it can */
	if (list_empty(&ctx->notify.pollers))
		ctx->notify.delivered = ctx->notify.visible;
	f->poll = ph;
	poller_link(ctx, f);
	if (f->node.row->poll)
		engine_watch(fs->eng, &ctx->ec);
}

/* A file that cannot tell what is new can be read at any time. */
unsigned poller_state(const struct file *f)
{
	const struct row *row = f->node.row;
	unsigned state = row->poll && !watermark_is_behind(f->ctx) ? row->poll(f) : 0;

	if (!row->poll)
		state |= POLLIN | POLLRDNORM;
	if (row->mode & 0222)
		state |= POLLOUT | POLLWRNORM;
	return state;
}

/* Delivers each event only once, even when another follows, because to epoll each wake-up is an
 * event. */
void pollers_wake(struct fs_context *ctx)
{
	bool notified = ctx->notify.delivered.notified != ctx->notify.visible.notified;
	bool changed = ctx->notify.delivered.changes != ctx->notify.visible.changes;
	struct file *f, *next;

	ctx->notify.delivered = ctx->notify.visible;
	list_for_each_entry_safe (f, next, &ctx->notify.pollers, poll_link) {
		const struct row *row = f->node.row;

		if (row->poll && (row->reply ? notified : changed) && row->poll(f))
			poller_wake_file(f);
	}
}

void pollers_close(struct fs_context *ctx, uint64_t serial)
{
	struct file *f, *next;

	list_for_each_entry_safe (f, next, &ctx->notify.pollers, poll_link)
		if (serial == ctx->self.serial || serial == f->node.serial)
			poller_wake_file(f);
}
