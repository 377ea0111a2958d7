/* SPDX-License-Identifier: MIT */
/* A daemon for one run of pfm, whose mount is in a mount namespace of its own. */
#ifndef TOOLS_PFM_TREE_PRIVATE_DAEMON_H
#define TOOLS_PFM_TREE_PRIVATE_DAEMON_H

#include <sys/types.h>

#include "base/err.h"

struct private_daemon {
	pid_t pid;
	int dir; /* the root of its mount */
};

/*
 * Starts it, with @backend, and waits until it serves. It ends when the calling thread does,
 * whatever ends that. On failure the sentence is that of the daemon.
 */
int private_start(struct private_daemon *d, const char *backend, struct err *e);

/* For a user other than root: the daemon has no rights but that user's. */
int private_start_user(struct private_daemon *d, const char *backend, struct err *e);

/* Ends it, and waits for the end: all registers are restored then. */
void private_stop(pid_t daemon);

#endif
