// SPDX-License-Identifier: MIT
/*
 * clone: each open makes a context, which is removed with the open file. The kernel keeps mapped
 * pages by inode, so each lookup of the name yields another inode (node.c), and each inode is
 * opened once. Commands arrive as text, like those of ctl, or as ioctls
 * (include/perfmonfs/ioctl.h), in packets. Until the first ioctl, a read returns text; after it,
 * messages.
 */
#include "daemon/fs/rows/clone_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/command/command.h"
#include "daemon/command/ioctl.h"
#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/context_life.h"
#include "daemon/fs/requests/evtset_request.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/file_read.h"
#include "daemon/fs/requests/memory.h"
#include "daemon/fs/requests/quota.h"
#include "daemon/fs/requests/smpl.h"
#include "daemon/fs/requests/uid_error.h"
#include "daemon/fs/requests/watermarks.h"
#include "daemon/fs/rows/context_rows.h"
#include "daemon/fs/rows/message_rows.h"
#include "daemon/fs/rows/rows.h"
#include "perfmonfs/live.h"

/* Makes the region at the open, when the kernel must know the memory, although it is allocated
 * later. Without passthrough, clients can map only the buffer, which is synced. */
static int clone_make_region(struct call *call, struct file *f, struct err *e)
{
	struct fs *fs = call->fs;
	size_t most = fs->config.smpl_buf_size_max + (MAPPED_SETS + 1) * sizeof(struct pfm_live);
	struct shared *s;

	if (!fs->passthrough || quota_check_memory(fs, f->ctx, f->memlock, 0, NULL, e) < 0)
		return 0;
	if (shared_new_region(&fs->memory, most, &f->ctx->id.quota->buffers, &s, e) < 0)
		return -e->no;
	if (!shared_pass(s)) {
		shared_unref(s);
		return 0;
	}
	f->ctx->map.region = s;
	if (shared_open(s, node_ino(call), e) < 0)
		return -e->no;
	f->shared = s;
	return 0;
}

static int clone_make(struct call *call, const struct rights *rights, struct file *f, struct err *e)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);

	if (caller_check_make(rights, e) < 0 ||
		object_make_clone(&call->fs->objects, call->node.serial, caller->uid, caller->gid,
			&f->ctx, e) < 0) {
		audit_make(call, e);
		return -e->no;
	}
	context_ref(f->ctx);
	f->memlock = f->ctx->map.memlock = caller_memlock(call);
	if (clone_make_region(call, f, e) < 0)
		return -e->no;
	file_link_memory(f, call->fs, node_ino(call));
	uid_error_set(call->fs, caller->uid, NULL);
	if (f->shared)
		file_reply_passed(call->req, f, true);
	else
		file_reply_stream(call->req, f);
	return 0;
}

/* Another open of the same inode may have been first. */
static int clone_check_first(const struct call *call, struct err *e)
{
	if (!object_find(&call->fs->objects, call->node.serial))
		return 0;
	return err_set(
		e, ESTALE, "another open file of clone is this context already: open clone again");
}

/* @arg is the file. */
static void clone_open_later(struct call *call, void *arg)
{
	struct rights rights;
	struct err e;
	int rc = caller_await_rights(call, caller_needs_to_make(call), &rights, &e);
	bool due = await_end(call);

	if (due && rc == 0)
		rc = clone_check_first(call, &e);
	if (due && rc == 0)
		rc = clone_make(call, &rights, arg, &e);
	if (due && rc == 0)
		return;
	file_destroy(arg);
	if (due)
		call_fail(call, &e);
}

static int clone_open(struct call *call, struct file *f, struct err *e)
{
	struct rights rights;

	if (caller_rights(call, caller_needs_to_make(call), &rights))
		return clone_make(call, &rights, f, e);
	return await_start(call, clone_open_later, f, e);
}

/* Called when the clone is closed or its open has failed. Its directory may already have been
 * removed. */
static void clone_release(struct file *f)
{
	struct fs_context *ctx = f->ctx;
	struct err e;

	if (!ctx)
		return;
	/* The program may have ended because of that failure. */
	if (context_get_failure(ctx, &e))
		uid_error_set(fs_of(ctx), ctx->id.uid, &e);
	object_drop_clone(ctx->objs, ctx);
	if (!ctx->closed && context_destroy(ctx, NULL) < 0)
		fprintf(stderr, "perfmonfs: no memory to end context %s: rmdir it\n", ctx->id.path);
}

/* Returns the number and the path of the context, once; then the end of the file. The sentence of a
 * failed write comes first. An open clone may be a stream, whose reads all have offset 0 (file.h),
 * so the offset is ignored. */
void clone_read_text(struct call *call)
{
	struct file *f = call->file;
	char line[64];
	size_t n;

	if (call_read_left(call))
		return;
	snprintf(line, sizeof(line), "%" PRIu64 " ctx/%s\n", f->ctx->id.number, f->ctx->id.path);
	n = strlen(line) - f->numbered;
	if (n > call->size)
		n = call->size;
	/* A reader that was killed has not got them. */
	if (fuse_reply_buf(call->req, line + f->numbered, n) == 0)
		f->numbered += n;
}

/* Text can be read at any time. */
static unsigned clone_poll(const struct file *f)
{
	return f->ioctls ? message_poll(f) : POLLIN | POLLRDNORM;
}

/* Some clients map no more than a file's size. An open file keeps its size, even if the context is
 * removed. Without memory, the file is a text. */
static size_t clone_size(const struct call *call)
{
	const struct shared *region = call->ctx ? call->ctx->map.region : NULL, *s;
	const struct file *f = call->file;

	if (!call->ctx)
		return NODE_TEXT_SIZE;
	if (f && f->shared)
		region = f->shared;
	s = f && f->shown ? f->shown : NULL;
	if (!s && smpl_is_in_clone(call->ctx))
		s = smpl_memory(call->ctx);
	if (region && region->length)
		return region->length;
	return s ? s->size : NODE_TEXT_SIZE;
}

void clone_read_page(fuse_req_t req, const struct file *f, size_t size, size_t off)
{
	if (f->shown)
		memory_read(req, f->shown, size, off);
	else
		fuse_reply_err(req, EINVAL);
}

/* Sends the packet back, with its results. */
static void clone_reply(struct call *call, int rc, const struct err *e)
{
	struct packet *p = call->packet;
	struct slice back = packet_answer(p);

	if (rc < 0)
		context_set_error(call->ctx, e);
	else if (packet_writes(p))
		context_set_error(call->ctx, &p->note);
	fuse_reply_ioctl(call->req, rc, back.p, back.n);
	free(p);
}

static void clone_answer(struct command_request *r);

static void clone_abandon(struct command_request *r)
{
	free(r->request.call.packet);
}

/* The hooks of commands in packets. */
static const struct command_kind clone_command = {
	.answer = clone_answer,
	.abandon = clone_abandon,
};
static const struct command_kind clone_setup = {
	.follow = smpl_follow,
	.answer = clone_answer,
	.abandon = clone_abandon,
};
static const struct command_kind clone_new_set = {
	.follow = evtset_follow_new,
	.answer = clone_answer,
	.abandon = clone_abandon,
};
static const struct command_kind clone_delete_set = {
	.follow = evtset_follow_delete,
	.answer = clone_answer,
	.abandon = clone_abandon,
};

static bool clone_has_memory(const struct call *call)
{
	const struct shared *region = call->ctx->map.region;

	return call->file->shown || (region && region->length);
}

static int clone_set_up(struct call *call, struct command *cmd, struct err *e)
{
	struct shared *region = call->ctx->map.region;
	struct slice format, arg;
	struct smpl *s;
	int rc = 0;

	packet_setup(call->packet, &format, &arg);
	if (clone_has_memory(call))
		return err_set(
			e, EBUSY, "this clone already has a buffer or live pages: open another");
	if (smpl_choose(call, cmd->setup.flags, format, arg, &s, e) < 0)
		return -e->no;
	s->in_clone = true;
	if (s->mem)
		rc = region ? shared_attach_region(s->mem, region, e) : shared_use_sync(s->mem, e);
	if (rc < 0)
		smpl_drop(s);
	else
		smpl_submit(call, cmd, &clone_setup, s);
	return rc;
}

/* A set-up, answered once clients can see the buffer. */
struct clone_showing {
	struct sync_fence fence;
	struct call call;
};

static void clone_reply_shown(void *arg)
{
	CLEANUP_FREE struct clone_showing *w = arg;

	clone_reply(&w->call, 0, NULL);
}

static void clone_show_buffer(struct call *call)
{
	struct shared *s = smpl_memory(call->ctx);
	struct clone_showing *w = malloc(sizeof(*w));
	struct err e;

	if (!w || shared_open(s, node_ino(call), &e) < 0) {
		free(w);
		err_set(&e, ENOMEM, "no memory to show the buffer: close this clone");
		clone_reply(call, -e.no, &e);
		return;
	}
	call->file->shown = s;
	*w = (struct clone_showing){{.after = clone_reply_shown, .arg = w}, *call};
	watermark_watch(call->ctx);
	shared_fence(s, &w->fence);
}

/* Submits @cmd. If it returns a negative errno, @cmd is neither submitted nor answered. */
static int clone_submit(struct call *call, struct command *cmd, struct err *e)
{
	const struct command_kind *kind = &clone_command;
	const struct object *set;

	switch (cmd->verb) {
	case CMD_EVTSET_NEW:
		return evtset_submit_new(call, cmd, &clone_new_set, e);
	case CMD_SETUP:
		return clone_set_up(call, cmd, e);
	case CMD_EVTSET_DELETE:
		kind = &clone_delete_set;
		break;
	case CMD_EVTSET_READ:
		set = object_set_from(call->ctx, cmd->evtset.id);
		call->packet->cookie = set ? set->cookie : 0;
		break;
	case CMD_LOAD:
		if (context_check_load(call, cmd, e) < 0)
			return -e->no;
		break;
	default:
		break;
	}
	file_read_submit(call, cmd, kind);
	return 0;
}

static void clone_take(struct call *call, struct command *cmd, int rc, struct err *e);

static void clone_execute(struct call *call, struct command *cmd)
{
	struct err e;

	if (clone_submit(call, cmd, &e) < 0) {
		cmd->evtset.fault = FAULT_REFUSED;
		clone_take(call, cmd, -e.no, &e);
		command_free(cmd);
	}
}

/* Ends the packet without executing @cmd. */
static void clone_refuse(struct call *call, struct command *cmd, const struct err *e)
{
	command_free(cmd);
	clone_reply(call, -e->no, e);
}

/* A command of a packet that waits on a fiber before it is executed. */
struct clone_waiting {
	struct call *call;
	struct command cmd;
	int rc;
	struct err err;
};

/* Goes on with the packet, whose other commands nest. */
static void clone_go_on(void *arg)
{
	struct clone_waiting *w = arg;

	if (w->cmd.verb == CMD_SIGNAL)
		clone_take(w->call, &w->cmd, w->rc, &w->err);
	else if (w->rc < 0)
		clone_refuse(w->call, &w->cmd, &w->err);
	else
		clone_execute(w->call, &w->cmd);
}

/* @arg is the command. */
static void clone_execute_later(struct call *call, void *arg)
{
	struct clone_waiting w = {.call = call, .cmd = *(const struct command *)arg};

	w.rc = command_await(call, &w.cmd, &w.err);
	if (await_end(call)) {
		fiber_outside(clone_go_on, &w);
		return;
	}
	command_free(&w.cmd);
	free(call->packet);
}

/* Executes the packet's next command. At most 255 of them nest. */
static void clone_next(struct call *call)
{
	struct command cmd = {0};
	struct err e;
	int rc = packet_next(call->packet, &cmd, &e);

	if (rc > 0 && context_check_closed(call->ctx, &e) < 0)
		rc = -e.no;
	if (rc <= 0) {
		command_free(&cmd);
		clone_reply(call, rc, &e);
		return;
	}
	if (command_is_ready(call, &cmd))
		clone_execute(call, &cmd);
	else if (await_start(call, clone_execute_later, &cmd, &e) < 0)
		clone_refuse(call, &cmd, &e);
}

/* Shows a command that took effect in the files of the context as well. */
static void clone_commit(const struct call *call, const struct command *cmd)
{
	switch (cmd->verb) {
	case CMD_LOAD:
	case CMD_START:
	case CMD_STOP:
	case CMD_RESTART:
	case CMD_UNLOAD:
	case CMD_SIGNAL:
		context_commit_ctl(call->ctx, cmd);
		break;
	case CMD_SETUP:
		context_commit_flags(call->ctx, cmd);
		break;
	default:
		break;
	}
}

/* Stores the result of @cmd in the packet, and continues with the packet. */
static void clone_take(struct call *call, struct command *cmd, int rc, struct err *e)
{
	struct packet *p = call->packet;

	if (rc == 0)
		clone_commit(call, cmd);
	p->buf_size = cmd->setup.smpl.size;
	packet_take(p, cmd, rc, e);
	if (rc < 0)
		clone_reply(call, -e->no, e);
	else if (cmd->verb == CMD_SETUP && cmd->setup.smpl.buf)
		clone_show_buffer(call);
	else
		clone_next(call);
}

static void clone_answer(struct command_request *r)
{
	clone_take(&r->request.call, &r->job.cmd, r->job.rc, &r->job.err);
}

static bool clone_is_open_for(const struct file *f, const struct packet *p)
{
	return f->access == O_RDWR || f->access == (packet_writes(p) ? O_WRONLY : O_RDONLY);
}

/* Makes the packet. Returns NULL with a sentence if it is refused. */
static struct packet *clone_unpack(
	const struct call *call, unsigned nr, const void *in, size_t size, struct err *e)
{
	struct packet *p = packet_new(nr, in, size, e);

	if (p && size > call->fs->config.arg_size_max)
		err_set(e, E2BIG, "%zu bytes in one call: config/arg_size_max allows %" PRIu64,
			size, call->fs->config.arg_size_max);
	else if (p && !clone_is_open_for(call->file, p))
		err_set(e, EBADF, "this clone is not open for %s: open it with O_RDWR",
			packet_writes(p) ? "writing" : "reading");
	else
		return p;
	free(p);
	return NULL;
}

void clone_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned nr, void *arg, struct fuse_file_info *fi,
	unsigned flags, const void *in, size_t in_size, size_t out_size)
{
	struct call call;
	struct err e;

	(void)arg, (void)out_size;
	if (flags & FUSE_IOCTL_DIR) {
		fuse_reply_err(req, ENOTTY);
		return;
	}
	if (!call_begin_open(req, ino, fi, &call))
		return;
	if (!row_has(call.node.row, ROW_CLONE)) {
		fuse_reply_err(req, ENOTTY);
		return;
	}
	call.packet = clone_unpack(&call, nr, in, in_size, &e);
	if (!call.packet && e.no == ENOTTY) { /* last_error stays: shells send this to any file */
		fuse_reply_err(req, ENOTTY);
		return;
	}
	if (!call.packet) {
		call_fail(&call, &e);
		return;
	}
	call.file->ioctls = true;
	call.packet->system_wide = atomic_load(&call.ctx->flags) & CTX_SYSTEM_WIDE;
	call.packet->number = call.ctx->id.number;
	clone_next(&call);
}

const struct row rows_clone[] = {
	{FILE_ROW(DIR_ROOT, "clone", 0666), .flags = ROW_CLONE | ROW_CAPABILITIES,
		.open = clone_open, .release = clone_release, .size = clone_size,
		.room = message_room, .reply = message_reply_clone, .poll = clone_poll,
		.parse = context_parse_ctl, .commit = context_commit_ctl},
	ROW_END,
};
