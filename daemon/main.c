// SPDX-License-Identifier: MIT
/* perfmonfs: runs --check or --pmu-check, or opens a backend and serves the filesystem. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/pmu/catalog.h"
#include "base/cleanup.h"
#include "daemon/background.h"
#include "daemon/check.h"
#include "daemon/format/format.h"
#include "daemon/fs/fs.h"
#include "daemon/options.h"
#include "daemon/percpu/workqueue.h"
#include "formats/formats.h"

/* Loads the built-in sampling formats, then those of the directory. */
static int main_load_formats(const struct options *o, struct err *e)
{
	int rc = formats_register(builtin_formats, e);

	return rc < 0 || !o->formats ? rc : formats_load(o->formats, e);
}

/* Does all that needs no backend. The fork comes last, as it leaves threads behind. */
static int main_prepare(
	struct options *o, struct config *config, struct background *background, struct err *e)
{
	int rc;

	if (geteuid() != 0 && o->connection < 0)
		return err_set(e, EPERM, "not root: EPERM: run perfmonfs with sudo");
	rc = fs_check_mount_opts(o->mount_opts, e);
	if (rc == 0)
		rc = options_load_config(o, config, e);
	if (rc == 0)
		rc = main_load_formats(o, e);
	if (rc == 0 && o->pmu_dir)
		rc = pmu_load_dir(o->pmu_dir, e);
	if (rc == 0 && !o->foreground)
		rc = background_fork(background, e);
	return rc;
}

/* The session unblocks those that end the daemon. */
static void main_block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int main_serve(struct options *o, struct err *e)
{
	struct background background = {.pipe = -1};
	CLEANUP_FREE char *mountpoint = realpath(o->mountpoint, NULL);
	CLEANUP_FREE char *dev = realpath(o->conf.dev, NULL);
	struct fs_options fs = {
		/* The mount point of a daemon that died has no real path. */
		.mountpoint = mountpoint ? mountpoint : o->mountpoint,
		.connection = o->connection,
		.mount_opts = o->mount_opts,
		.run_dir = o->conf.run_dir,
		.nopassthrough = o->nopassthrough,
		.ready = background_ready,
		.ready_arg = &background,
		.alive = background_alive,
	};
	struct config config;
	struct backend *be;
	int rc;

	if (dev)
		o->conf.dev = dev;
	rc = main_prepare(o, &config, &background, e);
	if (rc < 0)
		return rc;
	main_block_signals();
	/* For this process, which may be a child of the process that systemd knows. */
	fs.watchdog_ns = background_watchdog_ns();
	rc = options_open_backend(o, &config, &be, e);
	if (rc < 0)
		return rc;
	rc = fs_serve(be, &config, &fs, e);
	be->ops->close(be);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o;
	TEXT_CLEANUP struct text mount_opts = {0};
	struct err e;
	int fd, status = 0;

	/* If the daemon is started with descriptors 0 to 2 closed, no other file gets them. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	if (options_parse(argc, argv, &o, &mount_opts) < 0)
		return 2;
	if (o.pmu_check)
		return check_pmu_file(o.pmu_check);
	if (o.check)
		return check_machine(&o);
	if (main_serve(&o, &e) < 0) {
		fprintf(stderr, "perfmonfs: %s\n", e.text);
		status = 1;
	}
	if (workqueue_hangs())
		_exit(status); /* exit() would wait for the file's constructors, or the device */
	return status;
}
