/* SPDX-License-Identifier: MIT */
/* The face of the filesystem for main(): everything that knows libfuse is behind it. */
#ifndef FS_FS_H
#define FS_FS_H

#include "base/text.h"
#include "daemon/fs/config.h"
#include "perfmonfs/backend.h"

struct fs_options {
	const char *mountpoint;
	const char *mount_opts; /* "-o" words that are libfuse's or the kernel's, comma-separated */
	bool nopassthrough; /* memory is fed to the kernel, even if it could be passed through */
	void (*ready)(void *arg); /* called once the kernel has been answered */
	void *ready_arg;
};

/*
 * Mounts, serves until unmounted or told to end by SIGTERM, SIGINT or SIGHUP, and puts every
 * register back. The caller has blocked those signals. Returns 0, or -errno with a sentence if
 * it could not be mounted.
 */
int fs_serve(struct backend *be, const struct config *config, const struct fs_options *opts,
	struct err *e);

/* "path mode" of every file of the tree, a line each, members as NAME, ID and N: for tests. */
void fs_print_tree(struct text *out);

#endif
