// SPDX-License-Identifier: MIT
#include "daemon/fs/tree/deferred.h"

#include "daemon/fs/tree/fs_state.h"

void deferred_add(struct fs *fs, struct deferred *d)
{
	struct user_quota *q = d->quota;

	if (list_empty(&q->deferred))
		list_add_tail(&q->deferred_link, &fs->deferred);
	list_add_tail(&d->link, &q->deferred);
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
