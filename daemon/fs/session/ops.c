// SPDX-License-Identifier: MIT
/*
 * The FUSE operations: generic walks over the table of rows. None of them waits for more than one
 * look at a register; what takes longer is answered later, by another thread.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>

/* Every operation begins here: false means that it has been answered. */
static bool call_begin(fuse_req_t req, fuse_ino_t ino, struct call *call)
{
	struct fs *fs = fuse_req_userdata(req);
	int rc;

	fs->requests++;
	rc = node_call(fs, req, ino, call);
	if (rc < 0)
		fuse_reply_err(req, -rc);
	return rc == 0;
}

bool call_begin_open(
	fuse_req_t req, fuse_ino_t ino, const struct fuse_file_info *fi, struct call *call)
{
	if (!call_begin(req, ino, call))
		return false;
	call->file = (struct file *)(uintptr_t)fi->fh;
	if (!call->node.row->clone || !call->ctx->closed)
		return true;
	fuse_reply_err(req, ENODEV);
	return false;
}

static void refuse(struct call *call, int no, const char *why)
{
	struct err e;

	err_set(&e, no, "%s", why);
	call_fail(call, &e);
}

static void fs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry;
	struct call dir, child;

	if (!call_begin(req, parent, &dir))
		return;
	if (node_lookup(&dir, name, &child) < 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	entry = node_entry(&child);
	fuse_reply_entry(req, &entry);
}

static void fs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct file *f = fi ? (struct file *)(uintptr_t)fi->fh : NULL;
	struct call call;
	struct stat st;

	/* An open file of memory stays what it is. */
	if (f && (f->node.row->memory || f->node.row->clone))
		call = (struct call){
			.fs = fuse_req_userdata(req), .node = f->node, .ctx = f->ctx, .file = f};
	else if (!call_begin(req, ino, &call))
		return;
	node_attr(&call, &st);
	fuse_reply_attr(req, &st, node_timeout(&call));
}

/* Truncating and touching change nothing; shells and touch expect them to succeed. */
static void fs_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	const int harmless = FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME |
			     FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW |
			     FUSE_SET_ATTR_CTIME;
	struct call call;
	struct stat st;

	(void)attr;
	(void)fi;
	if (!call_begin(req, ino, &call))
		return;
	if (to_set & ~harmless) {
		refuse(&call, EPERM, "owners and modes of this tree are fixed");
		return;
	}
	if ((to_set & FUSE_SET_ATTR_SIZE) && !(call.node.row->mode & 0222)) {
		refuse(&call, EACCES, "this file is read-only, for root too");
		return;
	}
	node_attr(&call, &st);
	fuse_reply_attr(req, &st, node_timeout(&call));
}

static void fs_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct call call;

	if (!call_begin(req, ino, &call))
		return;
	if (call.node.row->target)
		fuse_reply_readlink(req, call.node.row->target);
	else
		fuse_reply_err(req, EINVAL);
}

static void fs_readdir(
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
		struct stat st = {.st_ino = node_ino(&child.node), .st_mode = child.node.row->mode};
		size_t need =
			fuse_add_direntry(req, buf + used, size - used, name, &st, (off_t)cookie);

		if (need > size - used)
			break;
		used += need;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

/* O_TRUNC would have the kernel cut the file at 0 for whoever has mapped it. */
static int open_memory(struct call *call, struct file *f, int flags, struct err *e)
{
	const struct row *row = call->node.row;

	call->file = f;
	if (flags & O_TRUNC)
		return err_set(e, EACCES,
			"this file cannot be truncated, not even by root: open it without O_TRUNC "
			"(not by a shell's >)");
	return (row->open ? row->open : memory_open)(call, f, e);
}

static void fs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	bool writes = (fi->flags & O_ACCMODE) != O_RDONLY;
	struct call call;
	struct file *f;
	struct err e;

	if (!call_begin(req, ino, &call))
		return;
	if (writes && !(call.node.row->mode & 0222)) {
		refuse(&call, EACCES, "this file is read-only, for root too");
		return;
	}
	if (call.node.row->clone && call.ctx) {
		refuse(&call, ESTALE,
			"it is a context already, of another open file: open clone by its name");
		return;
	}
	f = file_new(&call);
	if (!f) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	/* Rights are those of who opens: a program of root's that reads or writes a file that a
	 * user has handed it must not lend its own. */
	f->uid = fuse_req_ctx(req)->uid;
	f->access = fi->flags & O_ACCMODE;
	if (call.node.row->show == cpus_show || (writes && call.node.row->parse))
		f->rights = caller_rights(&call);
	if (writes && call.node.row->store == format_store)
		f->memlock = caller_memlock(&call);
	if (call.node.row->memory || call.node.row->open) {
		if (open_memory(&call, f, fi->flags, &e) < 0) {
			file_free(f);
			call_fail(&call, &e);
		}
		return;
	}
	if (call.node.row->give) {
		stream_reply(req, f);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)f;
	fi->direct_io = 1;
	fi->noflush = 1;
	if (fuse_reply_open(req, fi) < 0) /* who is gone by now never closes it */
		file_free(f);
}

static void fs_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct file *f = (struct file *)(uintptr_t)fi->fh;

	(void)ino;
	file_free(f);
	fuse_reply_err(req, 0);
}

/* Reads on from what an earlier read saw; false if there was none. */
static bool read_on(struct call *call)
{
	struct file *f = call->file;
	char *copy = NULL;
	size_t n = 0;
	bool seen;

	pthread_mutex_lock(&f->lock);
	seen = f->seen;
	if (seen && call->off < f->snap.n) {
		n = f->snap.n - call->off < call->size ? f->snap.n - call->off : call->size;
		copy = malloc(n);
		if (copy)
			memcpy(copy, f->snap.p + call->off, n);
	}
	pthread_mutex_unlock(&f->lock);
	if (!seen)
		return false;
	if (n && !copy)
		fuse_reply_err(call->req, ENOMEM);
	else
		fuse_reply_buf(call->req, copy, n);
	free(copy);
	return true;
}

static void fs_read(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct file *f = (struct file *)(uintptr_t)fi->fh;
	TEXT_CLEANUP struct text out = {0};
	struct command cmd = {0};
	const struct row *row;
	struct call call;
	struct err e;
	int rc;

	if (f->node.row->memory) {
		memory_read(req, f->shared, size, (size_t)off);
		return;
	}
	/* The kernel names whoever reads, but nobody if it is itself for a page. */
	if (f->node.row->clone && !fi->lock_owner) {
		clone_read_page(req, f, size, (size_t)off);
		return;
	}
	if (!call_begin_open(req, ino, fi, &call))
		return;
	row = call.node.row;
	call.size = size;
	call.off = (size_t)off;
	if (row->give) {
		messages_read(&call, fi->flags & O_NONBLOCK);
		return;
	}
	if (off && read_on(&call))
		return;
	if (row->ask) {
		rc = row->ask(&call, &cmd, &e);
		if (rc < 0)
			call_read_done(&call, rc, &out, &e);
		else
			call_ask(&call, &cmd);
		return;
	}
	rc = row->show(&call, &out, &e);
	if (rc != CALL_LATER)
		call_read_done(&call, rc, &out, &e);
}

static void store(struct call *call, struct slice text)
{
	const struct row *row = call->node.row;
	struct command cmd = {0};
	struct err e;
	int rc;

	if (call->size > call->fs->config.arg_size_max)
		rc = err_set(&e, E2BIG,
			"%zu bytes in one write: write at most config/arg_size_max, %" PRIu64,
			call->size, call->fs->config.arg_size_max);
	else if (!slice_text(&text, row->lines))
		rc = err_set(&e, EINVAL, "write one line of text, without control characters");
	else if (row->store)
		rc = row->store(call, text, &e);
	else
		rc = row->parse(call, text, &cmd, &e);
	if (rc == 0 && cmd.verb == CMD_SIGNAL && row->parse)
		rc = notifier_set(call, &cmd, &e);
	if (rc < 0) {
		command_free(&cmd);
		call_write_done(call, rc, &e);
	} else if (row->parse && cmd.verb == CMD_SIGNAL) {
		row->keep(call->ctx, &cmd);
		call_write_done(call, 0, NULL);
	} else if (row->parse) {
		cmd.rights = call->file->rights;
		call_ask(call, &cmd);
	} else if (rc != CALL_LATER) {
		call_write_done(call, 0, NULL);
	}
}

/* The offset means nothing: each write is complete in itself, as echo >> and printf need it. */
static void fs_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct call call;

	(void)off;
	if (!call_begin_open(req, ino, fi, &call))
		return;
	call.size = size;
	store(&call, (struct slice){buf, size});
}

static void make_context(struct call *dir, const char *name)
{
	const struct fuse_ctx *who = fuse_req_ctx(dir->req);
	struct fuse_entry_param entry;
	struct fs_context *ctx;
	struct call child;
	struct err e;

	if (caller_may_make(dir, &e) < 0 ||
		object_make(&dir->fs->objects, name, who->uid, who->gid, &ctx, &e) < 0) {
		call_fail(dir, &e);
		return;
	}
	uid_error_set(dir->fs, who->uid, NULL);
	node_lookup(dir, ctx->name, &child);
	entry = node_entry(&child);
	fuse_reply_entry(dir->req, &entry);
}

static void make_set(struct call *dir, const char *name)
{
	struct command cmd = {.verb = CMD_EVTSET_NEW};
	struct err e;

	if (command_parse_evtset_id(name, &cmd.evtset.id, &e) < 0 ||
		call_make_set(dir, &cmd, &e) < 0)
		call_fail(dir, &e);
}

static void fs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct call dir;

	(void)mode;
	if (!call_begin(req, parent, &dir))
		return;
	switch (dir.node.row->is) {
	case DIR_CTXS:
		make_context(&dir, name);
		break;
	case DIR_SETS:
		make_set(&dir, name);
		break;
	default:
		refuse(&dir, EPERM,
			"contexts are made in ctx/, event sets in their set/, and nothing "
			"elsewhere");
	}
}

static void remove_context(struct call *call)
{
	if (context_destroy(call->ctx, call->req) < 0)
		fuse_reply_err(call->req, ENOMEM);
}

/* A loaded context is stopped and unloaded, as the specification's close() does (3.1.15). */
static void fs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct command cmd = {.verb = CMD_EVTSET_DELETE};
	struct call dir, child;

	if (!call_begin(req, parent, &dir))
		return;
	if (node_lookup(&dir, name, &child) < 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	switch (dir.node.row->is) {
	case DIR_CTXS:
		uid_error_set(dir.fs, fuse_req_ctx(req)->uid, NULL);
		remove_context(&child);
		break;
	case DIR_CHILDREN:
		context_set_error(dir.ctx, NULL);
		remove_context(&child);
		break;
	case DIR_SETS:
		cmd.evtset.id = (uint16_t)child.set;
		call_ask(&child, &cmd);
		break;
	default:
		refuse(&dir, EPERM, "only contexts and event sets can be removed");
	}
}

static void refuse_in(fuse_req_t req, fuse_ino_t ino)
{
	struct call dir;

	if (call_begin(req, ino, &dir))
		refuse(&dir, EPERM, "files of this tree are neither made, renamed nor removed");
}

static void fs_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	(void)name, (void)mode, (void)rdev;
	refuse_in(req, parent);
}

static void fs_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	(void)name, (void)mode, (void)fi;
	refuse_in(req, parent);
}

static void fs_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)name;
	refuse_in(req, parent);
}

static void fs_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	(void)link, (void)name;
	refuse_in(req, parent);
}

static void fs_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
	const char *newname, unsigned flags)
{
	(void)name, (void)newparent, (void)newname, (void)flags;
	refuse_in(req, parent);
}

static void fs_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
	(void)ino, (void)newname;
	refuse_in(req, newparent);
}

static void fs_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = CTX_NAME_MAX};
	struct call call;

	if (!call_begin(req, ino, &call))
		return;
	st.f_files = call.fs->objects.count;
	fuse_reply_statfs(req, &st);
}

static void fs_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	/* A write over arg_size_max must come as one piece, to be refused as a whole. */
	conn->max_write = 2 * ARG_SIZE_LIMIT;
	/* Memory that is fed does not change behind the kernel's back. */
	conn->want &= ~FUSE_CAP_AUTO_INVAL_DATA;
	if (fs->opts->ready)
		fs->opts->ready(fs->opts->ready_arg);
}

const struct fuse_lowlevel_ops fs_ops = {
	.create = fs_create,
	.getattr = fs_getattr,
	.init = fs_init,
	.ioctl = fs_ioctl,
	.link = fs_link,
	.lookup = fs_lookup,
	.mkdir = fs_mkdir,
	.mknod = fs_mknod,
	.open = fs_open,
	.poll = fs_poll,
	.read = fs_read,
	.readdir = fs_readdir,
	.readlink = fs_readlink,
	.release = fs_release,
	.rename = fs_rename,
	.rmdir = fs_rmdir,
	.setattr = fs_setattr,
	.statfs = fs_statfs,
	.symlink = fs_symlink,
	.unlink = fs_unlink,
	.write = fs_write,
};
