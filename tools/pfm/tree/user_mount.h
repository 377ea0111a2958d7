/* SPDX-License-Identifier: MIT */
/* A FUSE mount for a daemon without root privileges. It has no path, and only its user may enter
 * it. */
#ifndef TOOLS_PFM_TREE_USER_MOUNT_H
#define TOOLS_PFM_TREE_USER_MOUNT_H

#include "base/err.h"

struct user_mount {
	int connection; /* for the daemon that serves it */
	int root;       /* its directory; the mount ends when no process has a part of it open */
};

/* Makes the mount in a user namespace, or else with fusermount3. */
int user_mount_make(struct user_mount *m, struct err *e);

#endif
