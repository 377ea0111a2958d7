/* SPDX-License-Identifier: MIT */
/* A daemon for one run of pfm, with its mount in its own mount namespace. */
#ifndef TOOLS_PFM_TREE_PRIVATE_DAEMON_H
#define TOOLS_PFM_TREE_PRIVATE_DAEMON_H

#include <sys/types.h>

#include "base/err.h"

struct private_daemon {
	pid_t pid;
	int dir; /* the root of its mount */
};

/* Starts the daemon with @backend, and waits until it serves. It ends when the calling thread does,
 * however that ends. On failure, the sentence is the daemon's. */
int private_start(struct private_daemon *d, const char *backend, struct err *e);

/* Starts the daemon for a non-root user, with only that user's rights. */
int private_start_user(struct private_daemon *d, const char *backend, struct err *e);

/* Ends the daemon and waits for its end, when all registers are restored. */
void private_stop(pid_t daemon);

#endif
