/* SPDX-License-Identifier: MIT */
/*
 * What this daemon says to the kernel that libfuse 3.14 has no words for: that reads and mappings
 * of a file are to be passed through to memory of its own (Linux 6.9). It reads what libfuse
 * reads, and completes libfuse's answer to INIT.
 */
#ifndef FS_PASSTHROUGH_H
#define FS_PASSTHROUGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuse_session;

struct passthrough {
	bool wanted;
	bool settled;  /* INIT has been answered */
	bool on;       /* both sides have agreed */
	bool offered;  /* by the kernel's INIT, */
	uint64_t init; /* which is this request */
};

/* Has @se, whose user data @p is within a struct fs, speak through this; fails if libfuse was
 * built without. */
int passthrough_session(struct fuse_session *se, int fd);

#endif
