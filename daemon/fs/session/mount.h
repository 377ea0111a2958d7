/* SPDX-License-Identifier: MIT */
/* Mounts by calling mount(2) directly, so that each failure has its own errno and a sentence. */
#ifndef FS_MOUNT_H
#define FS_MOUNT_H

#include <stdbool.h>

#include "base/err.h"

/* A line of mountinfo. Mount ids are reused at once; the source field of a perfmonfs has its
 * daemon's pid. */
struct mount_line {
	int id;
	char type[64], source[64];
};

/* Mounts a perfmonfs at @path and returns the /dev/fuse descriptor. @words are -o's options. */
int mount_fuse(const char *path, const char *words, struct err *e);
/* Finds the mount at @path. Returns false if there is none. */
bool mount_find(const char *path, struct mount_line *m);

#endif
