// SPDX-License-Identifier: MIT
/* Files that are memory: opened in the way that the kernel can do it, and read if it asks. */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/fuse.h>
#include <stdlib.h>

#include "base/cleanup.h"

#ifndef FOPEN_PASSTHROUGH
#define FOPEN_PASSTHROUGH (1 << 7) /* Linux 6.9 */
#endif

/* struct fuse_open_out as it is since Linux 6.9. */
struct open_out {
	uint64_t fh;
	uint32_t open_flags;
	int32_t backing_id;
};

/* A file whose open was interrupted is never released. */
static void opened(struct file *f, int rc)
{
	if (rc < 0)
		file_free(f);
}

void memory_reply_passed(fuse_req_t req, struct file *f, bool text)
{
	const struct open_out out = {
		.fh = (uintptr_t)f,
		.open_flags = FOPEN_PASSTHROUGH | FOPEN_NOFLUSH | (text ? FOPEN_DIRECT_IO : 0),
		.backing_id = f->shared->id,
	};

	opened(f, fuse_reply_buf(req, (const char *)&out, sizeof(out)));
}

/* libfuse has no word for it. */
void stream_reply(fuse_req_t req, struct file *f)
{
	const struct fuse_open_out out = {
		.fh = (uintptr_t)f,
		.open_flags = FOPEN_DIRECT_IO | FOPEN_STREAM | FOPEN_NOFLUSH,
	};

	opened(f, fuse_reply_buf(req, (const char *)&out, sizeof(out)));
}

struct opening {
	struct publication publication;
	fuse_req_t req;
	struct file *f;
};

/* What the kernel has in its cache is true, so it is kept. */
static void reply_fed(void *arg)
{
	CLEANUP_FREE struct opening *o = arg;
	const struct fuse_file_info fi = {.fh = (uintptr_t)o->f, .keep_cache = 1, .noflush = 1};

	opened(o->f, fuse_reply_open(o->req, &fi));
}

static int open_fed(struct call *call, struct file *f, struct err *e)
{
	struct opening *o = malloc(sizeof(*o));

	if (!o)
		return err_set(e, ENOMEM, "no memory");
	*o = (struct opening){{.after = reply_fed, .arg = o}, call->req, f};
	/* From now on, clients may not be told of what they cannot see yet. */
	context_watch(call->fs, call->ctx);
	shared_publish(f->shared, &o->publication);
	return 0;
}

int memory_open(struct call *call, struct file *f, struct err *e)
{
	struct shared *s = call->node.row->memory(call, e);

	if (!s)
		return -e->no;
	if (shared_open(s, node_ino(&call->node), e) < 0)
		return -e->no;
	f->shared = s;
	if (s->way == SHARED_FED)
		return open_fed(call, f, e);
	memory_reply_passed(call->req, f, false);
	return 0;
}

void memory_read(fuse_req_t req, struct shared *s, size_t size, size_t off)
{
	CLEANUP_FREE char *copy = NULL;
	size_t n = off < s->size ? s->size - off : 0;

	n = n < size ? n : size;
	copy = malloc(n + 1);
	if (!copy) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	shared_read(s, off, copy, n);
	fuse_reply_buf(req, copy, n);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* It is charged by its pages to all there is and to what the context's owner has. */
int memory_afford(struct fs *fs, const struct fs_context *ctx, uint64_t lock, size_t room,
	const struct shared *old, struct err *e)
{
	uint64_t back = old && !old->opens ? old->charged : 0;
	struct shared_account *all = &fs->memory.all, *own = &ctx->owner->buffers;
	uint64_t most = fs->config.smpl_buf_size_max;

	shared_sweep(&fs->memory);
	if (room > less(most, less(atomic_load(&all->bytes), back)))
		return err_set(e, ENOMEM,
			"%zu bytes are too many with the %llu of all buffers: ask for less, or "
			"have root raise config/smpl_buf_size_max, %" PRIu64,
			room, atomic_load(&all->bytes), most);
	if (room > less(lock, less(atomic_load(&own->bytes), back)))
		return err_set(e, ENOMEM,
			"%zu bytes are too many with the %llu of the owner's buffers: ask for "
			"less, or raise your RLIMIT_MEMLOCK (ulimit -l), %" PRIu64 " bytes",
			room, atomic_load(&own->bytes), lock);
	if (ctx->uid && atomic_load(&own->pieces) >= BUFFERS_PER_USER)
		return err_set(e, ENOSPC,
			"too many buffers and live pages: write none to the format of some "
			"contexts, or rmdir some sets (limit: %d a user)",
			BUFFERS_PER_USER);
	return 0;
}

size_t memory_size(const struct call *call)
{
	const struct shared *s = call->file ? call->file->shared : NULL;
	struct err e;

	if (!s)
		s = call->node.row->memory(call, &e);
	return s ? s->size : 0;
}
