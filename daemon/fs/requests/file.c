// SPDX-License-Identifier: MIT
/*
 * Open files. The kernel releases each in its time, but when the mount goes away first: what was
 * open then is freed with the rest.
 */
#include "daemon/fs/fs_i.h"

#include <stdlib.h>

struct file *file_new(struct call *call)
{
	struct fs *fs = call->fs;
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->node = call->node;
	f->ctx = call->ctx;
	if (f->ctx) {
		context_ref(f->ctx);
		atomic_init(&f->changes, atomic_load(&f->ctx->tenant.changes));
	}
	pthread_mutex_init(&f->lock, NULL);
	f->next = fs->files;
	f->at = &fs->files;
	if (f->next)
		f->next->at = &f->next;
	fs->files = f;
	return f;
}

void file_free(struct file *f)
{
	*f->at = f->next;
	if (f->next)
		f->next->at = f->at;
	poller_forget(f);
	if (f->node.row->clone && f->ctx)
		clone_closed(f);
	if (f->shown)
		shared_close(f->shown);
	if (f->shared)
		shared_close(f->shared);
	context_unref(f->ctx);
	pthread_mutex_destroy(&f->lock);
	text_free(&f->snap);
	text_free(&f->left);
	free(f);
}

void files_free(struct fs *fs)
{
	while (fs->files)
		file_free(fs->files);
}
