// SPDX-License-Identifier: MIT
/*
 * clone: each open of it makes a context, which goes with the open file. The kernel keeps what is
 * mapped of a file by its inode, so each look-up of the name is another inode (node.c), and one is
 * opened once. Commands come as ioctls (include/perfmonfs/ioctl.h), a packet each.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int clone_open(struct call *call, struct file *f, struct err *e)
{
	const struct fuse_ctx *who = fuse_req_ctx(call->req);

	if (call->ctx)
		return err_set(e, ESTALE,
			"it is a context already, of another open file: open clone by its name");
	if (caller_may_make(call, e) < 0 || object_make_clone(&call->fs->objects, call->node.serial,
						    who->uid, who->gid, &f->ctx, e) < 0)
		return -e->no;
	context_ref(f->ctx);
	f->rights = caller_rights(call);
	f->memlock = caller_memlock(call);
	uid_error_set(call->fs, who->uid, NULL);
	stream_reply(call->req, f);
	return 0;
}

/* Somebody may have removed its directory before. */
void clone_closed(struct file *f)
{
	struct fs_context *ctx = f->ctx;

	object_drop_clone(ctx->objs, ctx);
	if (!ctx->closed && context_destroy(ctx, NULL) < 0)
		fprintf(stderr, "perfmonfs: no memory to end context %s: rmdir it\n", ctx->path);
}

int clone_store(struct call *call, struct slice text, struct err *e)
{
	(void)call, (void)text;
	return err_set(e, EINVAL, "commands are ioctls here: see perfmonfs/ioctl.h");
}

/* --- Commands */

/* The packet goes back, with what came of it. */
static void reply(struct call *call, int rc, const struct err *e)
{
	struct packet *p = call->packet;
	struct slice back = packet_answer(p);

	if (rc < 0)
		context_set_error(call->ctx, e);
	else if (packet_writes(p))
		context_set_error(call->ctx, NULL);
	fuse_reply_ioctl(call->req, rc, back.p, back.n);
	free(p);
}

/* As in a write to ctl: who has been handed this open file must not lend his own rights. */
static int check_load(const struct call *call, const struct command *cmd, struct err *e)
{
	if (cmd->tid && fuse_req_ctx(call->req)->uid != call->file->uid)
		return err_set(e, EPERM,
			"uid %u has opened this file: open clone yourself to load on a thread",
			(unsigned)call->file->uid);
	return 0;
}

static int set_up(struct call *call, struct command *cmd, struct err *e)
{
	struct slice format, arg;
	struct smpl *s;

	packet_setup(call->packet, &format, &arg);
	if (smpl_choose(call, cmd->flags, format, arg, &s, e) < 0)
		return -e->no;
	call_set_up(call, cmd, s);
	return 0;
}

/* Negative: it has not been sent, nor answered. */
static int send(struct call *call, struct command *cmd, struct err *e)
{
	switch (cmd->verb) {
	case CMD_EVTSET_NEW:
		return call_make_set(call, cmd, e);
	case CMD_SETUP:
		return set_up(call, cmd, e);
	case CMD_LOAD:
		if (check_load(call, cmd, e) < 0)
			return -e->no;
		break;
	default:
		break;
	}
	call_ask(call, cmd);
	return 0;
}

/* The next command of the packet, of which there are 255 at most, one within the other. */
static void go_on(struct call *call)
{
	struct command cmd = {0};
	struct err e;
	int rc = packet_next(call->packet, &cmd, &e);

	if (rc <= 0) {
		command_free(&cmd);
		reply(call, rc, &e);
		return;
	}
	cmd.rights = call->file->rights;
	if (cmd.verb == CMD_SIGNAL) {
		clone_took(call, &cmd, notifier_set(call, &cmd, &e), &e);
	} else if (send(call, &cmd, &e) < 0) {
		cmd.evtset.fault = FAULT_REFUSED;
		clone_took(call, &cmd, -e.no, &e);
		command_free(&cmd);
	}
}

/* What has taken effect shows in the files of the context, too. */
static void keep(const struct call *call, const struct command *cmd)
{
	switch (cmd->verb) {
	case CMD_LOAD:
	case CMD_START:
	case CMD_STOP:
	case CMD_RESTART:
	case CMD_UNLOAD:
	case CMD_SIGNAL:
		ctl_keep(call->ctx, cmd);
		break;
	case CMD_SETUP:
		ctx_flags_keep(call->ctx, cmd);
		break;
	default:
		break;
	}
}

void clone_took(struct call *call, struct command *cmd, int rc, struct err *e)
{
	struct packet *p = call->packet;

	if (rc == 0)
		keep(call, cmd);
	p->buf_size = cmd->smpl.size;
	packet_take(p, cmd, rc, e);
	if (rc < 0)
		reply(call, -e->no, e);
	else
		go_on(call);
}

static bool is_open_for(const struct file *f, const struct packet *p)
{
	return f->access == O_RDWR || f->access == (packet_writes(p) ? O_WRONLY : O_RDONLY);
}

/* The packet, or NULL with the sentence. */
static struct packet *unpack(
	const struct call *call, unsigned nr, const void *in, size_t size, struct err *e)
{
	struct packet *p = packet_new(nr, in, size, e);

	if (p && size > call->fs->config.arg_size_max)
		err_set(e, E2BIG, "%zu bytes in one call: config/arg_size_max allows %" PRIu64,
			size, call->fs->config.arg_size_max);
	else if (p && !is_open_for(call->file, p))
		err_set(e, EBADF, "this clone is not open for %s: open it with O_RDWR",
			packet_writes(p) ? "writing" : "reading");
	else
		return p;
	free(p);
	return NULL;
}

void fs_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned nr, void *arg, struct fuse_file_info *fi,
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
	if (!call.node.row->clone) {
		fuse_reply_err(req, ENOTTY);
		return;
	}
	call.packet = unpack(&call, nr, in, in_size, &e);
	if (!call.packet && e.no == ENOTTY) { /* shells ask for a terminal: no failure of theirs */
		fuse_reply_err(req, ENOTTY);
		return;
	}
	if (!call.packet) {
		call_fail(&call, &e);
		return;
	}
	call.packet->system_wide = atomic_load(&call.ctx->flags) & CTX_SYSTEM_WIDE;
	call.packet->number = call.ctx->number;
	go_on(&call);
}
