/* SPDX-License-Identifier: MIT */
/* Mounts of perfmonfs in the table of the process. */
#ifndef TOOLS_PFM_TREE_MOUNTS_H
#define TOOLS_PFM_TREE_MOUNTS_H

#include <limits.h>
#include <stdbool.h>

/* Whether the directory @dir is on a perfmonfs of root or of the caller. Mounts and plain files of
 * other users could contain anything, or make a reader wait forever. */
bool mounts_is_trusted(int dir);

/* Whether @path is the root of such a mount, and the mount answers. */
bool mounts_serves(const char *path);

/* Finds the first mount that answers and belongs to root or the caller, since any user can mount a
 * file system of this type. @path gets its absolute path. */
bool mounts_find(char path[PATH_MAX]);

#endif
