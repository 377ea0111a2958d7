/* SPDX-License-Identifier: MIT */
/* The interface of the filesystem for main(). Only daemon/fs knows libfuse. */
#ifndef FS_FS_H
#define FS_FS_H

#include "daemon/config/config.h"
#include "perfmonfs/backend.h"

struct fs_options {
	const char *mountpoint;
	/*
	 * A descriptor of /dev/fuse, whose mount the caller has made for one user and will undo;
	 * -1: there is none, and @mountpoint is to be mounted. The user of the daemon has root's
	 * rights in that mount, as far as the kernel gives them to the daemon.
	 */
	int connection;
	/* The words of -o that are libfuse's or the kernel's, comma-separated. */
	const char *mount_opts;
	/* Directory of the grants' file. */
	const char *run_dir;
	/* Sync memory to the kernel's cache even if it could be passed through. */
	bool nopassthrough;
	/* Called when the mount is ready. */
	void (*ready)(void *arg);
	void *ready_arg;
	/* Called at least each watchdog_ns while requests are served, by another thread;
	 * watchdog_ns 0: never. */
	uint64_t watchdog_ns;
	void (*alive)(void);
};

/* EINVAL: a word of -o is unknown. Before anything else fails for lack of that option. */
int fs_check_mount_opts(const char *words, struct err *e);

/*
 * Mounts, serves until unmounted or ended by SIGTERM, SIGINT or SIGHUP, and puts every
 * register back. The caller has blocked those signals. Returns 0, or -errno with a sentence if
 * it could not be mounted.
 */
int fs_serve(struct backend *be, const struct config *config, const struct fs_options *opts,
	struct err *e);

#endif
