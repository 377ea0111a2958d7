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

#include "base/cleanup.h"

/*
 * What will be mapped of it is made later, but where it comes from must be told now. If that cannot
 * be passed through, there is only a buffer, and that will be fed.
 */
static int make_area(struct call *call, struct file *f, struct err *e)
{
	struct fs *fs = call->fs;
	size_t most = fs->config.smpl_buf_size_max + (MAPPED_SETS + 1) * sizeof(struct pfm_live);
	struct shared *s;

	if (!fs->passthrough.on || memory_afford(fs, f->ctx, f->memlock, 0, NULL, e) < 0)
		return 0;
	if (shared_new_area(&fs->memory, most, &f->ctx->owner->buffers, &s, e) < 0)
		return -e->no;
	if (!shared_pass(s)) {
		shared_unref(s);
		return 0;
	}
	f->ctx->area = s;
	if (shared_open(s, node_ino(&call->node), e) < 0)
		return -e->no;
	f->shared = s;
	return 0;
}

int clone_open(struct call *call, struct file *f, struct err *e)
{
	const struct fuse_ctx *who = fuse_req_ctx(call->req);

	if (caller_may_make(call, e) < 0 || object_make_clone(&call->fs->objects, call->node.serial,
						    who->uid, who->gid, &f->ctx, e) < 0)
		return -e->no;
	context_ref(f->ctx);
	f->rights = caller_rights(call);
	f->memlock = f->ctx->memlock = caller_memlock(call);
	if (make_area(call, f, e) < 0)
		return -e->no;
	uid_error_set(call->fs, who->uid, NULL);
	if (f->shared)
		memory_reply_passed(call->req, f, true);
	else
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

/* --- What is mapped of it */

/* There are clients that do not map what a file does not have. An open file keeps what it has, even
 * if the context is removed. */
size_t clone_size(const struct call *call)
{
	const struct file *f = call->file;
	const struct shared *s = f && f->shown ? f->shown : context_memory(call->ctx);

	if (f && f->shared)
		return f->shared->length;
	if (call->ctx->area)
		return call->ctx->area->length;
	return s ? s->size : 0;
}

void clone_read_page(fuse_req_t req, const struct file *f, size_t size, size_t off)
{
	if (f->shown)
		memory_read(req, f->shown, size, off);
	else
		fuse_reply_buf(req, NULL, 0);
}

static bool nobody_has(const struct fs_context *ctx)
{
	return !ctx->tenant.home && !ctx->tenant.rider;
}

/* The page at 0, where there is no buffer, could not be told from none. */
static int first_page(struct fs_context *ctx, struct err *e)
{
	const size_t page = shared_room(sizeof(struct pfm_live));
	size_t at;

	if (ctx->pages.first)
		return 0;
	if (!ctx->area->length && shared_grow(ctx->area, page, &at, e) < 0)
		return -e->no;
	ctx->pages.first = ctx->area->length;
	return 0;
}

static int more_pages(struct fs *fs, struct fs_context *ctx)
{
	const size_t page = shared_room(sizeof(struct pfm_live));
	struct err ignored;
	size_t at;

	if (memory_afford(fs, ctx, ctx->memlock, page, NULL, &ignored) < 0 ||
		first_page(ctx, &ignored) < 0 || shared_grow(ctx->area, page, &at, &ignored) < 0)
		return -ignored.no;
	ctx->pages.n++;
	return 0;
}

/* A page that a set which is gone has had, or a new one; 0: there is none. */
static size_t take_page(struct fs *fs, struct fs_context *ctx)
{
	unsigned i = 0;

	while (i < MAPPED_SETS && ctx->pages.used[i])
		i++;
	if (i == MAPPED_SETS || (i == ctx->pages.n && more_pages(fs, ctx) < 0))
		return 0;
	ctx->pages.used[i] = true;
	return ctx->pages.first + i * shared_room(sizeof(struct pfm_live));
}

static void give_page(struct fs_context *ctx, size_t at)
{
	ctx->pages.used[(at - ctx->pages.first) / shared_room(sizeof(struct pfm_live))] = false;
}

/* One that cannot be had is no failure: counts can be read without. */
static bool map_set(struct fs *fs, struct fs_context *ctx, struct object *set)
{
	struct command cmd = {
		.verb = CMD_LIVE,
		.evtset.id = (uint16_t)set->set,
		.rdpmc = live_rdpmc_allowed(fs),
	};
	struct err ignored;
	size_t at;

	if (set->cookie || set->live)
		return true;
	at = take_page(fs, ctx);
	if (!at)
		return false;
	cmd.live = (struct pfm_live *)((char *)ctx->area->mem + at);
	if (context_do(ctx, &cmd, &ignored) == 0)
		set->cookie = at;
	else
		give_page(ctx, at);
	return true;
}

/* Sets come while the context is unloaded. If it has been loaded since, they have no page. */
void clone_map_set(struct fs_context *ctx, struct object *set)
{
	if (ctx->area && ctx->map_sets && nobody_has(ctx))
		map_set(link_entry(ctx->objs, struct fs, objects), ctx, set);
}

void clone_map_sets(struct fs_context *ctx)
{
	struct fs *fs = link_entry(ctx->objs, struct fs, objects);
	bool mapped;

	if (!ctx->area || !ctx->map_sets || !nobody_has(ctx))
		return;
	mapped = map_set(fs, ctx, &ctx->set0);
	for (unsigned i = 0; mapped && i < ctx->nsets; i++)
		mapped = map_set(fs, ctx, ctx->sets[i]);
}

void clone_unmap_set(struct fs_context *ctx, const struct object *set)
{
	if (set->cookie)
		give_page(ctx, set->cookie);
}

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

static bool has_memory(const struct call *call)
{
	return call->file->shown || (call->ctx->area && call->ctx->area->length);
}

static int set_up(struct call *call, struct command *cmd, struct err *e)
{
	struct shared *area = call->ctx->area;
	struct slice format, arg;
	struct smpl *s;
	int rc = 0;

	packet_setup(call->packet, &format, &arg);
	if (has_memory(call))
		return err_set(
			e, EBUSY, "this clone has a buffer or live pages already: open another");
	if (smpl_choose(call, cmd->flags, format, arg, &s, e) < 0)
		return -e->no;
	if (s->mem)
		rc = area ? shared_show(s->mem, area, e) : shared_feed(s->mem, e);
	if (rc < 0)
		smpl_drop(s);
	else
		call_set_up(call, cmd, s);
	return rc;
}

/* A set-up that is answered when the buffer can be seen. */
struct showing {
	struct publication publication;
	struct call call;
};

static void reply_shown(void *arg)
{
	CLEANUP_FREE struct showing *w = arg;

	reply(&w->call, 0, NULL);
}

/* From when it has been fed for the first time. */
static void show_buffer(struct call *call)
{
	struct shared *s = context_memory(call->ctx);
	struct showing *w = malloc(sizeof(*w));
	struct err e;

	if (!w || shared_open(s, node_ino(&call->node), &e) < 0) {
		free(w);
		err_set(&e, ENOMEM, "no memory to show the buffer: close this clone");
		reply(call, -e.no, &e);
		return;
	}
	call->file->shown = s;
	*w = (struct showing){{.after = reply_shown, .arg = w}, *call};
	context_watch(call->fs, call->ctx);
	shared_publish(s, &w->publication);
}

/* Negative: it has not been sent, nor answered. */
static int send(struct call *call, struct command *cmd, struct err *e)
{
	const struct object *set;

	switch (cmd->verb) {
	case CMD_EVTSET_NEW:
		return call_make_set(call, cmd, e);
	case CMD_SETUP:
		return set_up(call, cmd, e);
	case CMD_EVTSET_READ:
		set = object_set_from(call->ctx, cmd->evtset.id);
		call->packet->cookie = set ? set->cookie : 0;
		break;
	case CMD_LOAD:
		if (load_check_caller(call, cmd, e) < 0)
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

	if (rc > 0 && call->ctx->closed)
		rc = err_set(&e, ENODEV, "the context is being removed");
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
	else if (cmd->verb == CMD_SETUP && cmd->smpl.buf)
		show_buffer(call);
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
