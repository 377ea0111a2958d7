// SPDX-License-Identifier: MIT
/*
 * The process that unmounts. It is forked while the daemon still has CAP_SYS_ADMIN and keeps no
 * other capability; so the daemon can give up this one, and a mount is not left dead behind a
 * daemon that was killed. It does nothing but wait for the other end of a pipe.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

struct guard {
	pid_t pid;
	int fd; /* closed when the daemon has ended */
};

static void keep_only(cap_value_t cap)
{
	cap_t caps = cap_init();

	if (!caps)
		return;
	cap_set_flag(caps, CAP_PERMITTED, 1, &cap, CAP_SET);
	cap_set_flag(caps, CAP_EFFECTIVE, 1, &cap, CAP_SET);
	cap_set_proc(caps);
	cap_free(caps);
}

static _Noreturn void guard_main(const char *path, int fd)
{
	char type[64], byte;
	int id = mount_id(path, type);
	sigset_t all;

	/* Signals are for the daemon (a terminal's ^C comes to both): its death is what counts. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "perfmonfs-guard");
	if (chdir("/") < 0)
		_exit(1);
	keep_only(CAP_SYS_ADMIN);
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	/* If the user has unmounted, this may be another's mount. Numbers are used again, so it
	 * must be of our kind as well. */
	if (id >= 0 && mount_id(path, type) == id && strcmp(type, "fuse.perfmonfs") == 0)
		umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
	_exit(0);
}

/* Whatever else the daemon has open must not live on in the guard: no device, no terminal. */
static void close_all_but(int fd)
{
	int null = open("/dev/null", O_RDWR);

	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	if (fd > 3)
		close_range(3, (unsigned)fd - 1, 0);
	close_range((unsigned)fd + 1, ~0U, 0);
}

int guard_start(const char *mountpoint, struct guard **out, struct err *e)
{
	CLEANUP_FREE char *path = realpath(mountpoint, NULL);
	CLEANUP_FREE struct guard *g = calloc(1, sizeof(*g));
	int fds[2];

	if (!path || !g)
		return err_set(e, errno, "mount point: %s: %s", mountpoint, err_name(errno));
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(e, errno, "pipe: %s", err_name(errno));
	g->pid = fork();
	if (g->pid < 0) {
		close(fds[0]);
		close(fds[1]);
		return err_set(e, errno, "fork: %s", err_name(errno));
	}
	if (g->pid == 0) {
		close_all_but(fds[0]);
		guard_main(path, fds[0]);
	}
	close(fds[0]);
	g->fd = fds[1];
	*out = take_ptr(&g);
	return 0;
}

void guard_end(struct guard *g)
{
	close(g->fd);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(g);
}
