// SPDX-License-Identifier: MIT
#include "daemon/fs/tree/deferred.h"

#include "daemon/fs/tree/fs_state.h"

void deferred_add(struct fs *fs, struct deferred *d)
{
	list_add_tail(&d->link, &fs->deferred);
}

bool deferred_run(struct fs *fs)
{
	struct deferred *d = list_first_entry_or_null(&fs->deferred, struct deferred, link);

	if (!d)
		return false;
	list_del(&d->link);
	d->slice(d);
	return true;
}
