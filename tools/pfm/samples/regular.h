/* SPDX-License-Identifier: MIT */
/* Opens files whose names come from elsewhere: from a recording, or from other users' processes. */
#ifndef TOOLS_PFM_SAMPLES_REGULAR_H
#define TOOLS_PFM_SAMPLES_REGULAR_H

#include <stdint.h>

/* Opens a regular file for reading. Other files are refused, as opening some devices is a command
 * to them, and so are those of /proc and /sys. Returns the descriptor, or -errno; -EINVAL: it is
 * not a regular file. */
int regular_open(const char *path);
/* The same for the file @at, which is open with O_PATH. */
int regular_reopen(int at);

enum { REGULAR_IDENTITY = 20 }; /* bytes */
/* Gets the identity that distinguishes the open file from others at its path: inode, time of
 * modification in ns since 1970, and the low 32 bits of the device. All 0: not known. */
void regular_identity(int fd, uint8_t id[REGULAR_IDENTITY]);

#endif
