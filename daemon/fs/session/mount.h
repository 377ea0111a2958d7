/* SPDX-License-Identifier: MIT */
/* Mounting by mount(2) itself: each failure has its own errno, and a sentence. */
#ifndef FS_MOUNT_H
#define FS_MOUNT_H

#include "base/err.h"

/* Mounts a perfmonfs at @path and returns the /dev/fuse descriptor. @words are those of -o. */
int mount_fuse(const char *path, const char *words, struct err *e);
/* mountinfo's number and type of the mount at @path, or -1. */
int mount_id(const char *path, char type[64]);

#endif
