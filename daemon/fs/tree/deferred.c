// SPDX-License-Identifier: MIT
#include "daemon/fs/tree/deferred.h"

#include "daemon/fs/tree/fs_state.h"
#include "daemon/percpu/thread.h"

static struct list_head *deferred_queue(struct fs *fs, struct user_quota *q)
{
	assert_session_thread();
	if (list_empty(&q->deferred))
		list_add_tail(&q->deferred_link, &fs->deferred);
	return &q->deferred;
}

void deferred_add(struct fs *fs, struct deferred *d)
{
	list_add_tail(&d->link, deferred_queue(fs, d->quota));
}

void deferred_go_on(struct fs *fs, struct deferred *d)
{
	list_add(&d->link, deferred_queue(fs, d->quota));
}

void deferred_begin(struct fs *fs, struct deferred *d)
{
	if (list_empty(&d->quota->deferred))
		d->slice(d);
	else
		deferred_add(fs, d);
}

bool deferred_run(struct fs *fs)
{
	struct user_quota *q =
		list_first_entry_or_null(&fs->deferred, struct user_quota, deferred_link);
	struct deferred *d;

	if (!q)
		return false;
	d = list_first_entry_or_null(&q->deferred, struct deferred, link);
	list_del(&d->link);
	list_del(&q->deferred_link);
	if (!list_empty(&q->deferred))
		list_add_tail(&q->deferred_link, &fs->deferred);
	d->slice(d);
	return true;
}
