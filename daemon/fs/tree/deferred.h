/* SPDX-License-Identifier: MIT */
/*
 * Long work of the session thread, a slice at a time: between two slices it serves another request.
 * The first slice is run at once, without this, so that short work waits for nothing.
 */
#ifndef FS_DEFERRED_H
#define FS_DEFERRED_H

#include <stdbool.h>

#include "base/list.h"

struct fs;

struct deferred {
	/* In fs.deferred, until it is run. */
	struct list_head link;
	/* Works for about a millisecond, and adds @d again if more remains. It may free @d. */
	void (*slice)(struct deferred *d);
};

/* Has d->slice() called later, once; @d is not in the list. */
void deferred_add(struct fs *fs, struct deferred *d);
/* Runs one slice. False: there was none. */
bool deferred_run(struct fs *fs);

#endif
