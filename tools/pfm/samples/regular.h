/* SPDX-License-Identifier: MIT */
/* Files that others name: paths of a recording, and of other users' processes. */
#ifndef TOOLS_PFM_SAMPLES_REGULAR_H
#define TOOLS_PFM_SAMPLES_REGULAR_H

/*
 * Opens a regular file for reading. Nothing else is opened: to open some devices is a command to
 * them. Returns the descriptor, or -errno; -EINVAL: it is no regular file.
 */
int regular_open(const char *path);

#endif
