/* SPDX-License-Identifier: MIT */
/*
 * The part of passthrough (Linux 6.9) that libfuse 3.14 lacks: its negotiation. This code reads the
 * requests that libfuse reads, and completes libfuse's answer to INIT.
 */
#ifndef FS_PASSTHROUGH_H
#define FS_PASSTHROUGH_H

#include <stdbool.h>
#include <stdint.h>

struct fuse_session;

struct passthrough {
	/* Set before passthrough_attach(). */
	bool wanted;
	/* INIT has been answered. */
	bool answered;
	/* The kernel's INIT request offers passthrough. */
	bool offered;
	/* The id of the INIT request. */
	uint64_t init;
};

/* Sets the session's I/O functions. Its user data is the struct fs of a struct session. Fails if
 * libfuse was built without custom I/O. */
int passthrough_attach(struct fuse_session *se, int fd);

#endif
