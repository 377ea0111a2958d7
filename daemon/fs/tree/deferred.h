/* SPDX-License-Identifier: MIT */
/*
 * Long work of the session thread, done in slices: between two slices the thread serves another
 * request. Users take turns, so that a user with a lot of such work gets no more slices than a user
 * with little.
 */
#ifndef FS_DEFERRED_H
#define FS_DEFERRED_H

#include <stdbool.h>

#include "base/list.h"

struct fs;
struct user_quota;

struct deferred {
	/* Link in user_quota.deferred, until the work is run. */
	struct list_head link;
	/* The quota of the user whose turn this work uses; @d is charged to it until then. */
	struct user_quota *quota;
	/* Works for about a millisecond, and adds @d again if more work remains. May free @d. */
	void (*slice)(struct deferred *d);
};

/* Runs the first slice at once, so that short work waits for nothing; or later, if the user already
 * has long work under way. */
void deferred_begin(struct fs *fs, struct deferred *d);
/* Schedules one later call of d->slice(). @d must not be in the list. */
void deferred_add(struct fs *fs, struct deferred *d);
/* Schedules d->slice() like deferred_add(), but before the user's other work. */
void deferred_go_on(struct fs *fs, struct deferred *d);
/* Runs one slice. Returns false if there was none. */
bool deferred_run(struct fs *fs);

#endif
