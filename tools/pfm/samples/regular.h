/* SPDX-License-Identifier: MIT */
/* Files that others name: paths of a recording, and of other users' processes. */
#ifndef TOOLS_PFM_SAMPLES_REGULAR_H
#define TOOLS_PFM_SAMPLES_REGULAR_H

#include <stdint.h>

/*
 * Opens a regular file for reading. Nothing else is opened: to open some devices is a command to
 * them. Returns the descriptor, or -errno; -EINVAL: it is no regular file.
 */
int regular_open(const char *path);

enum { REGULAR_IDENTITY = 20 }; /* bytes */
/*
 * What tells the open file from another one of its path: inode, time of modification in ns since
 * 1970, and the low 32 bits of the device. All 0: the kernel does not tell.
 */
void regular_identity(int fd, uint8_t id[REGULAR_IDENTITY]);

#endif
