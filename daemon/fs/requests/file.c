// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/file.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>

#include "daemon/fs/tree/fs_state.h"

#ifndef FOPEN_PASSTHROUGH
#define FOPEN_PASSTHROUGH (1 << 7) /* Linux 6.9 */
#endif

/* struct fuse_open_out since Linux 6.9. */
struct file_open_out {
	uint64_t fh;
	uint32_t open_flags;
	int32_t backing_id;
};

/* Bytes of an open file, with its poll handle, and the lines of as many messages as it can take or
 * a sentence. */
static size_t file_bytes(const struct file *f, const struct row *row)
{
	enum { HANDLE = 32, LINES = 8192, SENTENCE = 256 };

	return sizeof(*f) + HANDLE + 2 * CHARGE_PIECE + (row->reply ? LINES : SENTENCE);
}

static int file_charge(struct file *f, const struct call *call, struct err *e)
{
	struct user_quotas *quotas = &call->fs->objects.quotas;
	struct user_quota *q = user_quota_get(quotas, fuse_req_ctx(call->req)->uid);

	if (!q)
		return err_set(e, ENOMEM, "no memory for an open file");
	f->charge.quota = f->snap_charge.quota = q;
	return charge_set(&f->charge, file_bytes(f, call->node.row), e);
}

struct file *file_new(struct call *call, struct err *e)
{
	struct fs *fs = call->fs;
	struct file *f = calloc(1, sizeof(*f));

	if (!f) {
		err_set(e, ENOMEM, "no memory for an open file");
		return NULL;
	}
	if (file_charge(f, call, e) < 0) {
		free(f);
		return NULL;
	}
	f->node = call->node;
	f->ctx = call->ctx;
	if (f->ctx) {
		context_ref(f->ctx);
		atomic_init(&f->changes, atomic_load(&f->ctx->ec.status.changes));
	}
	pthread_mutex_init(&f->lock, NULL);
	list_add(&f->link, &fs->files);
	return f;
}

void file_link_memory(struct file *f, struct fs *fs, fuse_ino_t ino)
{
	f->linked = true;
	hash_add(&fs->memory_files, &f->memory_link, ino);
}

int file_open_memory(struct file *f, struct fs *fs, struct shared *s, fuse_ino_t ino, struct err *e)
{
	if (shared_open(s, ino, e) < 0)
		return -e->no;
	f->shared = s;
	file_link_memory(f, fs, ino);
	return 0;
}

struct file *file_find_memory(const struct fs *fs, fuse_ino_t ino)
{
	struct hash_node *node = hash_find(&fs->memory_files, ino);

	return node ? container_of(node, struct file, memory_link) : NULL;
}

int file_keep(struct file *f, struct text *text, struct err *e)
{
	struct text old;
	int rc;

	pthread_mutex_lock(&f->lock);
	rc = charge_set(&f->snap_charge, text->room, e);
	if (rc == 0) {
		old = f->snap;
		f->snap = *text;
		f->seen = true;
		*text = old;
		text_clear(&f->left); /* a read from the beginning drops the sentence */
		f->given = 0;
	}
	pthread_mutex_unlock(&f->lock);
	return rc;
}

void file_leave(struct file *f, const char *line)
{
	pthread_mutex_lock(&f->lock);
	text_clear(&f->left);
	f->given = 0;
	if (line) {
		text_printf(&f->left, "%s\n", line);
		text_clear(&f->snap);
		f->seen = true;
	}
	pthread_mutex_unlock(&f->lock);
}

void file_forget_poll(struct file *f)
{
	if (!f->poll)
		return;
	fuse_pollhandle_destroy(f->poll);
	f->poll = NULL;
	list_del(&f->poll_link);
	f->ctx->notify.npollers--;
}

void file_destroy(struct file *f)
{
	list_del(&f->link);
	file_forget_poll(f);
	if (f->node.row->release)
		f->node.row->release(f);
	if (f->shown)
		shared_close(f->shown);
	if (f->linked)
		hash_remove(&fs_of(f->ctx)->memory_files, &f->memory_link);
	if (f->shared)
		shared_close(f->shared);
	context_unref(f->ctx);
	pthread_mutex_destroy(&f->lock);
	text_free(&f->snap);
	text_free(&f->left);
	charge_clear(&f->snap_charge);
	charge_clear(&f->charge);
	free(f);
}

void files_free(struct fs *fs)
{
	struct file *f, *next;

	list_for_each_entry_safe (f, next, &fs->files, link)
		file_destroy(f);
}

/* Builds the reply here, as libfuse lacks some of the flags. A file whose open was interrupted
 * would never be released. */
static void file_reply(fuse_req_t req, struct file *f, uint32_t open_flags, int32_t backing_id)
{
	const struct file_open_out out = {(uintptr_t)f, open_flags | FOPEN_NOFLUSH, backing_id};

	if (fuse_reply_buf(req, (const char *)&out, sizeof(out)) < 0)
		file_destroy(f);
}

void file_reply_direct(fuse_req_t req, struct file *f)
{
	file_reply(req, f, FOPEN_DIRECT_IO, 0);
}

void file_reply_stream(fuse_req_t req, struct file *f)
{
	file_reply(req, f, FOPEN_DIRECT_IO | FOPEN_STREAM, 0);
}

void file_reply_passed(fuse_req_t req, struct file *f, bool text)
{
	file_reply(req, f, FOPEN_PASSTHROUGH | (text ? FOPEN_DIRECT_IO : 0), f->shared->id);
}

/* The kernel's cache of the file is valid, so the kernel keeps it. */
void file_reply_cached(fuse_req_t req, struct file *f)
{
	file_reply(req, f, FOPEN_KEEP_CACHE, 0);
}
