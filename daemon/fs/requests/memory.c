// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/memory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/watermarks.h"

/* An open that is answered once the kernel's cache is right. */
struct memory_opening {
	struct sync_fence fence;
	fuse_req_t req;
	struct file *f;
};

static void memory_reply_synced(void *arg)
{
	CLEANUP_FREE struct memory_opening *o = arg;

	file_reply_cached(o->req, o->f);
}

static int memory_open_synced(struct call *call, struct file *f, struct err *e)
{
	struct memory_opening *o = malloc(sizeof(*o));

	if (!o)
		return err_set(e, ENOMEM, "no memory");
	*o = (struct memory_opening){{.after = memory_reply_synced, .arg = o}, call->req, f};
	/* From now on, an event is visible only after the data that led to it. */
	watermark_watch(call->ctx);
	shared_fence(f->shared, &o->fence);
	return 0;
}

int memory_open(struct call *call, struct file *f, struct err *e)
{
	struct shared *s = call->node.row->memory(call, e);

	if (!s)
		return -e->no;
	if (file_open_memory(f, call->fs, s, node_ino(call), e) < 0)
		return -e->no;
	if (s->way == SHARED_SYNCED)
		return memory_open_synced(call, f, e);
	file_reply_passed(call->req, f, false);
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

size_t memory_size(const struct call *call)
{
	const struct shared *s = call->file ? call->file->shared : NULL;
	struct err e;

	if (!s)
		s = call->node.row->memory(call, &e);
	return s ? s->size : 0;
}
