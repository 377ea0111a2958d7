// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/uid_error.h"
#include "daemon/fs/tree/fs_state.h"

bool call_begin(fuse_req_t req, fuse_ino_t ino, struct call *call)
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
	if (!row_has(call->node.row, ROW_CLONE) || !call->ctx->closed)
		return true;
	fuse_reply_err(req, ENODEV);
	return false;
}

void call_begin_outlived(fuse_req_t req, const struct fuse_file_info *fi, struct call *call)
{
	struct file *f = (struct file *)(uintptr_t)fi->fh;
	struct fs *fs = fuse_req_userdata(req);

	fs->requests++;
	*call = (struct call){
		.fs = fs,
		.req = req,
		.unique = fs->pending.unique,
		.node = f->node,
		.ctx = f->ctx,
		.set = -1,
		.file = f,
	};
}

/* Notes success (@e is NULL or a note) or failure in the nearest last_error. */
static void call_note(struct call *call, const struct err *e)
{
	if (call->ctx)
		context_set_error(call->ctx, e);
	else
		uid_error_set(call->fs, fuse_req_ctx(call->req)->uid, e);
}

void call_fail(struct call *call, const struct err *e)
{
	call_note(call, e);
	if (call->leaves)
		file_leave(call->file, e->text);
	fuse_reply_err(call->req, e->no);
}

/* Refuses an offset beyond the text: a program that seeks from the end has mistaken the size for
 * the length, and would show nothing. */
static void call_refuse_offset(struct call *call, size_t length)
{
	struct err e;

	err_set(&e, EINVAL,
		"the offset is beyond the text, which has %zu bytes: read from the beginning",
		length);
	call_fail(call, &e);
}

void call_read_done(struct call *call, int rc, struct text *out, const struct err *e)
{
	char few[256];
	char *copy = few;
	size_t from = call->off < out->n ? call->off : out->n;
	size_t n = out->n - from < call->size ? out->n - from : call->size;
	struct err full;

	if (rc < 0) {
		call_fail(call, e);
		return;
	}
	if (call->off > out->n) { /* only in a first read: later reads have the snapshot */
		call_refuse_offset(call, out->n);
		return;
	}
	if (n > sizeof(few))
		copy = malloc(n);
	if (!copy || !text_ok(out)) {
		if (copy != few)
			free(copy);
		fuse_reply_err(call->req, ENOMEM);
		return;
	}
	if (n)
		memcpy(copy, out->p + from, n);
	/* The snapshot must be in place before the answer: as soon as this read is answered, the
	 * file's next read may reach another thread. */
	if (file_keep(call->file, out, &full) < 0)
		call_fail(call, &full);
	else
		fuse_reply_buf(call->req, copy, n);
	if (copy != few)
		free(copy);
}

/* A copy of as much of @text, from byte @at on, as the read has room for. */
struct call_part {
	char *p;
	size_t n;
};

static struct call_part call_copy(const struct call *call, const struct text *text, size_t at)
{
	size_t n = at < text->n ? text->n - at : 0;
	struct call_part part = {.n = n < call->size ? n : call->size};

	part.p = part.n ? malloc(part.n) : NULL;
	if (part.p)
		memcpy(part.p, text->p + at, part.n);
	return part;
}

static void call_reply_part(struct call *call, const struct call_part *part)
{
	if (part->n && !part->p)
		fuse_reply_err(call->req, ENOMEM);
	else
		fuse_reply_buf(call->req, part->p, part->n);
	free(part->p);
}

bool call_read_left(struct call *call)
{
	struct file *f = call->file;
	struct call_part part;

	pthread_mutex_lock(&f->lock);
	part = call_copy(call, &f->left, f->given);
	f->given += part.p ? part.n : 0;
	if (f->given == f->left.n) {
		text_clear(&f->left);
		f->given = 0;
	}
	pthread_mutex_unlock(&f->lock);
	if (part.n)
		call_reply_part(call, &part);
	return part.n;
}

bool call_read_snapshot(struct call *call)
{
	struct file *f = call->file;
	struct call_part part = {0};
	bool seen;

	pthread_mutex_lock(&f->lock);
	seen = f->seen;
	if (seen)
		part = call_copy(call, &f->snap, call->off);
	pthread_mutex_unlock(&f->lock);
	if (seen)
		call_reply_part(call, &part);
	return seen;
}

void call_write_done(struct call *call, int rc, const struct err *e)
{
	if (rc < 0) {
		call_fail(call, e);
		return;
	}
	call_note(call, e);
	fuse_reply_write(call->req, call->size);
}
