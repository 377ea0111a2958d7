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
	 * -1 if there is none and the daemon must mount @mountpoint itself. In the caller's mount,
	 * the daemon's user has root's rights, to the extent that the kernel grants them to the
	 * daemon.
	 */
	int connection;
	/* The options of -o for libfuse or the kernel, comma-separated. */
	const char *mount_opts;
	/* Directory of the grants' file. */
	const char *run_dir;
	/* Sync memory to the kernel's cache even if it could be passed through. */
	bool nopassthrough;
	/* Called when the mount is ready. */
	void (*ready)(void *arg);
	void *ready_arg;
	/* Another thread calls alive() at least every watchdog_ns while requests are served; never
	 * if watchdog_ns is 0. */
	uint64_t watchdog_ns;
	void (*alive)(void);
};

/* EINVAL: an option of -o is unknown. Call it first, before anything fails without that option. */
int fs_check_mount_opts(const char *words, struct err *e);

/*
 * Mounts, serves until unmounted or ended by SIGTERM, SIGINT or SIGHUP, and restores every
 * register. The caller must have blocked those signals. Returns 0, or -errno with a sentence if
 * the mount failed.
 */
int fs_serve(struct backend *be, const struct config *config, const struct fs_options *opts,
	struct err *e);

#endif
