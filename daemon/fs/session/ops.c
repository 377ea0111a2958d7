// SPDX-License-Identifier: MIT
/*
 * The FUSE operations: generic walks over the table of rows. None of them waits for longer than one
 * register read; everything else is answered later, by another thread.
 */
#include "daemon/fs/session/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/command/command.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/command_request.h"
#include "daemon/fs/requests/context_life.h"
#include "daemon/fs/requests/evtset_request.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/file_read.h"
#include "daemon/fs/requests/memory.h"
#include "daemon/fs/requests/msg_reader.h"
#include "daemon/fs/requests/notify.h"
#include "daemon/fs/requests/poller.h"
#include "daemon/fs/requests/uid_error.h"
#include "daemon/fs/requests/watermarks.h"
#include "daemon/fs/rows/clone_rows.h"
#include "daemon/fs/session/session.h"

static struct file *ops_file(const struct fuse_file_info *fi)
{
	return fi ? (struct file *)(uintptr_t)fi->fh : NULL;
}

static void ops_refuse(struct call *call, int no, const char *why)
{
	struct err e;

	err_set(&e, no, "%s", why);
	call_fail(call, &e);
}

/* Makes the error for a register that the PMU lacks. */
static int ops_no_register(const struct call *dir, const char *name, struct err *e)
{
	return command_no_register(
		dir->fs->be->pmu, dir->node.row->is == DIR_PMDS, slice_of(name), e);
}

/* Records why @name is missing: after this lookup the kernel answers an rmdir, or an open without
 * O_CREAT, without asking the daemon. */
static void ops_note_absent(const struct call *dir, const char *name)
{
	enum dir is = dir->node.row->is;
	struct err e;

	if ((is == DIR_PMCS || is == DIR_PMDS) && slice_is_digits(slice_of(name))) {
		ops_no_register(dir, name, &e);
		context_set_error(dir->ctx, &e);
	}
	/* Shells look for many other names. */
	if (is == DIR_CTX && strcmp(name, "sets") == 0) {
		err_set(&e, ENOENT, "there is no 'sets' here: event sets are in set/: mkdir set/1");
		context_set_error(dir->ctx, &e);
	}
	if (is != DIR_CTXS)
		return;
	err_set(&e, ENOENT, "there is no context '%.*s': mkdir makes one, ls ctx shows them",
		SLICE_ARG(slice_of(name)));
	uid_error_set(dir->fs, fuse_req_ctx(dir->req)->uid, &e);
}

static void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry;
	struct call dir, child;

	if (!call_begin(req, parent, &dir))
		return;
	if (node_lookup(&dir, name, &child) < 0) {
		ops_note_absent(&dir, name);
		fuse_reply_err(req, ENOENT);
		return;
	}
	entry = node_entry(&child);
	fuse_reply_entry(req, &entry);
}

static void ops_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	/* fstat(2) names no open file. */
	struct file *f = fi ? ops_file(fi) : file_find_memory(fs, ino);
	struct call call;
	struct stat st;

	/* An open memory file keeps its attributes. */
	if (f && (f->node.row->memory || row_has(f->node.row, ROW_CLONE)))
		call = (struct call){.fs = fs, .node = f->node, .ctx = f->ctx, .file = f};
	else if (!call_begin(req, ino, &call))
		return;
	node_attr(&call, &st);
	fuse_reply_attr(req, &st, node_attr_timeout(&call));
}

/* When the kernel truncates a file, it also truncates the file's mappings. */
static int ops_check_truncate(const struct row *row, struct err *e)
{
	if (!(row->mode & 0222))
		return err_set(e, EACCES, "this file is read-only, for root too");
	if (row->memory || row->open)
		return err_set(e, EACCES,
			"this file cannot be truncated, not even by root: open it without O_TRUNC, "
			"which a shell's > sets");
	return 0;
}

/* Truncating and touching change nothing, but shells and touch expect them to succeed. Opening with
 * O_TRUNC truncates as well, see ops_init(). */
static void ops_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	const int harmless = FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME |
			     FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW |
			     FUSE_SET_ATTR_CTIME;
	struct call call;
	struct stat st;
	struct err e;

	(void)attr;
	(void)fi;
	if (!call_begin(req, ino, &call))
		return;
	if (to_set & ~harmless) {
		ops_refuse(&call, EPERM, "owners and modes of this tree are fixed");
		return;
	}
	if ((to_set & FUSE_SET_ATTR_SIZE) && ops_check_truncate(call.node.row, &e) < 0) {
		call_fail(&call, &e);
		return;
	}
	node_attr(&call, &st);
	fuse_reply_attr(req, &st, node_attr_timeout(&call));
}

static void ops_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct call call;

	if (!call_begin(req, ino, &call))
		return;
	if (call.node.row->target)
		fuse_reply_readlink(req, call.node.row->target);
	else
		fuse_reply_err(req, EINVAL);
}

static void ops_readdir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct call dir, child;
	uint64_t cookie = (uint64_t)off;
	char name[256];
	size_t used = 0;
	char *buf;

	(void)fi;
	if (!call_begin(req, ino, &dir))
		return;
	buf = malloc(size);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	while (node_next(&dir, &cookie, &child, name)) {
		struct stat st = {.st_ino = node_ino(&child), .st_mode = child.node.row->mode};
		size_t need =
			fuse_add_direntry(req, buf + used, size - used, name, &st, (off_t)cookie);

		if (need > size - used)
			break;
		used += need;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

static void ops_note_opener(const struct call *call, struct file *f, int flags)
{
	caller_note_opener(call, f);
	f->access = flags & O_ACCMODE;
	if (row_has(call->node.row, ROW_MEMLOCK) && f->access != O_RDONLY)
		f->memlock = caller_memlock(call);
}

static void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct call call;
	struct file *f;
	struct err e;

	if (!call_begin(req, ino, &call))
		return;
	if ((fi->flags & O_ACCMODE) != O_RDONLY && !(call.node.row->mode & 0222)) {
		ops_refuse(&call, EACCES, "this file is read-only, for root too");
		return;
	}
	if (row_has(call.node.row, ROW_CLONE) && call.ctx) {
		ops_refuse(&call, ESTALE,
			"this clone is a context already, through another open file: open clone by "
			"its name");
		return;
	}
	caller_note_reserve(&call);
	f = file_new(&call, &e);
	if (!f) {
		call_fail(&call, &e);
		return;
	}
	ops_note_opener(&call, f, fi->flags);
	if (call.node.row->memory || call.node.row->open) {
		call.file = f;
		if ((call.node.row->open ? call.node.row->open : memory_open)(&call, f, &e) < 0) {
			file_destroy(f);
			call_fail(&call, &e);
		}
	} else if (call.node.row->reply) {
		file_reply_stream(req, f);
	} else {
		file_reply_direct(req, f);
	}
}

static void ops_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct file *f = ops_file(fi);

	(void)ino;
	file_destroy(f);
	fuse_reply_err(req, 0);
}

/* Answers a read with text made by a command or by the session thread. */
static void ops_read_text(struct call *call)
{
	const struct row *row = call->node.row;
	TEXT_CLEANUP struct text out = {0};
	struct command cmd = {0};
	struct err e;
	int rc;

	call->leaves = !call->off;
	if (row->query) {
		rc = row->query(call, &cmd, &e);
		if (rc < 0)
			call_read_done(call, rc, &out, &e);
		else
			file_read_submit(call, &cmd, &command_read);
		return;
	}
	if (row_has(row, ROW_WAITS) && row->read) {
		await_read(call);
		return;
	}
	rc = row->read ? row->read(call, &out, &e) : 0;
	if (row->show)
		row->show(call, &out);
	call_read_done(call, rc, &out, &e);
}

/*
 * Since Linux 6.5, splice(2) and sendfile(2) copy pages of the kernel's cache even for files that
 * are not cached: an old text, cut to a size that another open file may have changed. An error
 * makes programs fall back to read().
 */
static void ops_read_page(fuse_req_t req, const struct file *f, size_t size, size_t off)
{
	if (row_has(f->node.row, ROW_CLONE))
		clone_read_page(req, f, size, off);
	else
		fuse_reply_err(req, EINVAL);
}

/* Answers with the sentence of a call that has failed, or with the rest of a text. Returns false,
 * with no answer, if the read begins a new text. */
static bool ops_read_known(struct call *call)
{
	if ((call->off || row_has(call->node.row, ROW_SENTENCES)) && call_read_left(call))
		return true;
	return call->off && call_read_snapshot(call);
}

static void ops_read(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct file *f = ops_file(fi);
	struct call call;

	if (f->node.row->memory) {
		memory_read(req, f->shared, size, (size_t)off);
		return;
	}
	/* Reads by processes have a lock owner; the kernel's reads of pages have none. */
	if (!fi->lock_owner) {
		ops_read_page(req, f, size, (size_t)off);
		return;
	}
	if (row_is_messages(f->node.row))
		call_begin_outlived(req, fi, &call);
	else if (!call_begin_open(req, ino, fi, &call))
		return;
	call.size = size;
	call.off = (size_t)off;
	if (row_has(call.node.row, ROW_CLONE) && !f->ioctls)
		clone_read_text(&call);
	else if (call.node.row->reply)
		messages_read(&call, fi->flags & O_NONBLOCK);
	else if (!ops_read_known(&call))
		ops_read_text(&call);
}

/* @arg is the command. */
static void ops_execute_later(struct call *call, void *arg)
{
	struct command cmd = *(const struct command *)arg;
	struct err e = {0};
	int rc = command_await(call, &cmd, &e);
	bool due = await_end(call);

	if (due && rc == 0 && cmd.verb != CMD_SIGNAL) {
		command_submit(call, &cmd, &command_write, NULL);
		return;
	}
	command_free(&cmd);
	if (due && rc == 0)
		call->node.row->commit(call->ctx, &cmd);
	if (due)
		call_write_done(call, rc, &e);
}

/* Executes a command that the row has parsed, and answers. */
static void ops_execute(struct call *call, struct command *cmd)
{
	struct err e;

	if (command_is_ready(call, cmd))
		command_submit(call, cmd, &command_write, NULL);
	else if (await_start(call, ops_execute_later, cmd, &e) < 0)
		command_fail(call, cmd, &e);
}

static int ops_refuse_text(struct slice text, struct err *e)
{
	if (text.n && memchr(text.p, '\r', text.n))
		return err_set(e, EINVAL,
			"a line ends in a carriage return (CRLF): end lines with a newline alone, "
			"as tr -d '\\r' does");
	return err_set(e, EINVAL,
		"the text has control characters or more than one line: write one line of plain "
		"text");
}

/* Outside of contexts, only root can open a file for writing, but root may have passed the
 * descriptor on. */
static int ops_check_writer(const struct call *call, struct err *e)
{
	const struct row *row = call->node.row;

	if (call->ctx || row->mode & S_IWOTH || caller_check_root(call, e) == 0)
		return 0;
	audit_refused_write(call, e);
	return -e->no;
}

static void ops_store(struct call *call, struct slice text)
{
	const struct row *row = call->node.row;
	struct command cmd = {0};
	struct err e;
	int rc = 0;

	if (ops_check_writer(call, &e) < 0)
		rc = -e.no;
	else if (call->size > call->fs->config.arg_size_max)
		rc = err_set(&e, E2BIG,
			"%zu bytes in one write: write at most config/arg_size_max, %" PRIu64,
			call->size, call->fs->config.arg_size_max);
	else if (!slice_text(&text, row_has(row, ROW_LINES)))
		rc = ops_refuse_text(text, &e);
	else if (!row->store)
		rc = row->parse(call, text, &cmd, &e);
	else if (!row_has(row, ROW_WAITS))
		rc = row->store(call, text, &e);
	if (rc < 0) {
		command_free(&cmd);
		call_write_done(call, rc, &e);
	} else if (row->store && row_has(row, ROW_WAITS)) {
		await_store(call, text);
	} else if (row->store) {
		call_write_done(call, 0, NULL);
	} else {
		ops_execute(call, &cmd);
	}
}

/* The offset is ignored: each write is complete, which echo >> and printf rely on. */
static void ops_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct call call;

	(void)off;
	if (!call_begin_open(req, ino, fi, &call))
		return;
	call.size = size;
	call.leaves = true;
	file_leave(call.file, NULL);
	ops_store(&call, (struct slice){buf, size});
}

static void ops_make_context(struct call *dir, const struct rights *rights, const char *name)
{
	const struct fuse_ctx *caller = fuse_req_ctx(dir->req);
	struct fuse_entry_param entry;
	struct fs_context *ctx;
	struct call child;
	struct err e;

	caller_note_reserve(dir);
	if (caller_check_make(rights, &e) < 0 ||
		object_make(&dir->fs->objects, name, caller->uid, caller->gid, &ctx, &e) < 0) {
		audit_make(dir, &e);
		call_fail(dir, &e);
		return;
	}
	uid_error_set(dir->fs, caller->uid, NULL);
	node_lookup(dir, ctx->id.name, &child);
	entry = node_entry(&child);
	fuse_reply_entry(dir->req, &entry);
}

/* @arg is the name. */
static void ops_make_context_later(struct call *dir, void *arg)
{
	CLEANUP_FREE char *name = strdup(arg);
	struct rights rights;
	struct err e;
	int rc = name ? caller_await_rights(dir, caller_needs_to_make(dir), &rights, &e)
		      : err_set(&e, ENOMEM, "no memory");

	if (!await_end(dir))
		return;
	if (rc < 0)
		call_fail(dir, &e);
	else
		ops_make_context(dir, &rights, name);
}

static void ops_make_set(struct call *dir, const char *name)
{
	struct command cmd = {.verb = CMD_EVTSET_NEW};
	struct err e;

	if (command_parse_evtset_id(name, &cmd.evtset.id, &e) < 0 ||
		evtset_submit_new(dir, &cmd, &evtset_mkdir, &e) < 0)
		call_fail(dir, &e);
}

static void ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct rights rights;
	struct call dir;
	struct err e;

	(void)mode;
	if (!call_begin(req, parent, &dir))
		return;
	switch (dir.node.row->is) {
	case DIR_CTXS:
		if (caller_rights(&dir, caller_needs_to_make(&dir), &rights))
			ops_make_context(&dir, &rights, name);
		else if (await_start(&dir, ops_make_context_later, (void *)(uintptr_t)name, &e) < 0)
			call_fail(&dir, &e);
		break;
	case DIR_SETS:
		ops_make_set(&dir, name);
		break;
	default:
		ops_refuse(&dir, EPERM,
			"nothing can be made here: mkdir makes a context in ctx/, and an event set "
			"in the context's set/");
	}
}

static void ops_remove_context(struct call *call)
{
	if (context_destroy(call->ctx, call->req) < 0)
		fuse_reply_err(call->req, ENOMEM);
}

/* Removes a context or an event set. A loaded context is stopped and unloaded, as by the
 * specification's close() (3.1.15). */
static void ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct command cmd = {.verb = CMD_EVTSET_DELETE};
	struct call dir, child;
	struct err e;

	if (!call_begin(req, parent, &dir))
		return;
	if (node_lookup(&dir, name, &child) < 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	switch (dir.node.row->is) {
	case DIR_CTXS:
		uid_error_set(dir.fs, fuse_req_ctx(req)->uid, NULL);
		ops_remove_context(&child);
		break;
	case DIR_CHILDREN:
		context_set_error(dir.ctx, NULL);
		ops_remove_context(&child);
		break;
	case DIR_SETS:
		cmd.evtset.id = (uint16_t)child.set;
		command_submit(&child, &cmd, &evtset_rmdir, NULL);
		break;
	default:
		if (dir.ctx)
			err_set(&e, EPERM,
				"'%.40s' is not removed alone: rmdir of its context, or of its "
				"event set in set/, removes it with all other files there",
				name);
		else
			err_set(&e, EPERM,
				"'%.40s' is part of the tree, and stays: rmdir removes contexts, "
				"in ctx/, and event sets, in set/ of a context",
				name);
		call_fail(&dir, &e);
	}
}

static void ops_refuse_link(fuse_req_t req, fuse_ino_t ino)
{
	struct call dir;

	if (call_begin(req, ino, &dir))
		ops_refuse(&dir, EPERM, "no links are made in this tree: make one elsewhere");
}

/* Refuses a new file, with a sentence for the likely mistakes: a register that the PMU lacks, and a
 * context without mkdir. */
static void ops_refuse_new(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct call dir;
	struct err e;

	if (!call_begin(req, ino, &dir))
		return;
	if (dir.node.row->is == DIR_PMCS || dir.node.row->is == DIR_PMDS)
		ops_no_register(&dir, name, &e);
	else
		err_set(&e, EPERM, "there is no file '%.*s' here, and none can be made: see ls",
			SLICE_ARG(slice_of(name)));
	call_fail(&dir, &e);
}

static void ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	(void)mode, (void)rdev;
	ops_refuse_new(req, parent, name);
}

static void ops_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	(void)mode, (void)fi;
	ops_refuse_new(req, parent, name);
}

static void ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct call dir;

	(void)name;
	if (call_begin(req, parent, &dir))
		ops_refuse(&dir, EPERM,
			"single files cannot be removed, nor by rm -r: rmdir a context or an event "
			"set to remove it with all of its files");
}

static void ops_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	(void)link, (void)name;
	ops_refuse_link(req, parent);
}

static void ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
	const char *newname, unsigned flags)
{
	struct call dir;

	(void)name, (void)newparent, (void)newname, (void)flags;
	if (call_begin(req, parent, &dir))
		ops_refuse(&dir, EPERM,
			"nothing is renamed here: mkdir a context with the other name, and `cat "
			"ctx/OLD/regs >ctx/NEW/regs` copies what it counts");
}

static void ops_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
	(void)ino, (void)newname;
	ops_refuse_link(req, newparent);
}

static void ops_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = CTX_NAME_MAX};
	struct call call;

	if (!call_begin(req, ino, &call))
		return;
	st.f_files = call.fs->objects.count;
	fuse_reply_statfs(req, &st);
}

/* The handle is taken before the state is read, so that no event between the two is lost. */
static void ops_poll(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *ph)
{
	struct fs *fs = fuse_req_userdata(req);
	struct file *f = ops_file(fi);
	struct call call;

	fs->requests++;
	if (node_call(fs, req, ino, &call) < 0 ||
		(f->ctx && f->ctx->closed && row_has(f->node.row, ROW_CLONE))) {
		if (ph)
			fuse_pollhandle_destroy(ph);
		fuse_reply_poll(req,
			POLLHUP | (row_is_messages(f->node.row) ? POLLIN | POLLRDNORM : POLLERR));
		return;
	}
	if (ph)
		poller_add(fs, f, ph);
	if (call.ctx && watermark_is_behind(call.ctx))
		notify_begin(call.ctx);
	fuse_reply_poll(req, poller_state(f));
}

static void ops_init(void *userdata, struct fuse_conn_info *conn)
{
	const struct fs_options *opts = session_of(userdata)->opts;

	/* A write over arg_size_max must arrive in one piece, so that all of it is refused. */
	conn->max_write = 2 * ARG_SIZE_LIMIT;
	/* Synced memory changes in the kernel's cache only through stores. */
	conn->want &= ~FUSE_CAP_AUTO_INVAL_DATA;
	/*
	 * With this capability, an open with O_TRUNC would leave the size 0, and splice(2) would
	 * copy nothing. Without it, the kernel sends a truncation and takes the size from the
	 * answer.
	 */
	conn->want &= ~FUSE_CAP_ATOMIC_O_TRUNC;
	/* regs, pmc and pmd always lead to set 0. */
	conn->want |= conn->capable & FUSE_CAP_CACHE_SYMLINKS;
	if (opts->ready)
		opts->ready(opts->ready_arg);
}

const struct fuse_lowlevel_ops fs_ops = {
	.create = ops_create,
	.getattr = ops_getattr,
	.init = ops_init,
	.ioctl = clone_ioctl,
	.link = ops_link,
	.lookup = ops_lookup,
	.mkdir = ops_mkdir,
	.mknod = ops_mknod,
	.open = ops_open,
	.poll = ops_poll,
	.read = ops_read,
	.readdir = ops_readdir,
	.readlink = ops_readlink,
	.release = ops_release,
	.rename = ops_rename,
	.rmdir = ops_rmdir,
	.setattr = ops_setattr,
	.statfs = ops_statfs,
	.symlink = ops_symlink,
	.unlink = ops_unlink,
	.write = ops_write,
};
