/* SPDX-License-Identifier: MIT */
/*
 * Long work of the session thread, a slice at a time: between two slices it serves another request.
 * Users take turns, so that a user with much of it takes no more slices than one with little.
 */
#ifndef FS_DEFERRED_H
#define FS_DEFERRED_H

#include <stdbool.h>

#include "base/list.h"

struct fs;
struct user_quota;

struct deferred {
	/* In user_quota.deferred, until it is run. */
	struct list_head link;
	/* Of the user whose turn it takes; it is charged for @d meanwhile. */
	struct user_quota *quota;
	/* Works for about a millisecond, and adds @d again if more remains. It may free @d. */
	void (*slice)(struct deferred *d);
};

/* Runs the first slice at once, so that short work waits for nothing; but later, if the user has
 * long work under way. */
void deferred_begin(struct fs *fs, struct deferred *d);
/* Has d->slice() called later, once; @d is not in the list. */
void deferred_add(struct fs *fs, struct deferred *d);
/* The same, but before its user's other work. */
void deferred_go_on(struct fs *fs, struct deferred *d);
/* Runs one slice. False: there was none. */
bool deferred_run(struct fs *fs);

#endif
