// SPDX-License-Identifier: MIT
/*
 * The process that keeps CAP_SYS_ADMIN, and no other capability: it is forked while the daemon
 * still has it; so the daemon can give it up. It unmounts when the daemon has ended, so that no
 * mount is left dead behind one that was killed; and until then, it tells the kernel which memory
 * is to be passed through. It does nothing but wait for what comes from the other end of a socket.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Linux 6.9; these are its own names. */
#ifndef FUSE_DEV_IOC_BACKING_OPEN
struct fuse_backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};
#define FUSE_DEV_IOC_BACKING_OPEN  _IOW(FUSE_DEV_IOC_MAGIC, 1, struct fuse_backing_map)
#define FUSE_DEV_IOC_BACKING_CLOSE _IOW(FUSE_DEV_IOC_MAGIC, 2, uint32_t)
#endif

struct guard {
	pid_t pid;
	int fd; /* closed when the daemon has ended */
};

/*
 * What the guard is asked: with two descriptors, that of the connection to the kernel and one of
 * memory, to register the memory; with the first alone, to end that of @id. It keeps neither.
 */
struct asked {
	uint32_t id;
	int fd[2]; /* -1: not there */
};

static ssize_t receive(int sock, struct asked *a)
{
	union {
		char room[CMSG_SPACE(sizeof(a->fd))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {&a->id, sizeof(a->id)};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;

	a->fd[0] = a->fd[1] = -1;
	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(a->fd, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n;
}

static int32_t carry_out(const struct asked *a)
{
	struct fuse_backing_map map = {.fd = a->fd[1]};
	int rc = a->fd[1] >= 0 ? ioctl(a->fd[0], FUSE_DEV_IOC_BACKING_OPEN, &map)
			       : ioctl(a->fd[0], FUSE_DEV_IOC_BACKING_CLOSE, &a->id);

	return rc < 0 ? -errno : rc;
}

static void answer_requests(int sock)
{
	struct asked a;
	int32_t answer;

	while (receive(sock, &a) > 0) {
		answer = carry_out(&a);
		for (int i = 0; i < 2; i++)
			if (a.fd[i] >= 0)
				close(a.fd[i]);
		if (send(sock, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			return;
	}
}

static int ask(const struct guard *g, uint32_t id, const int *fds, int nfds)
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {&id, sizeof(id)};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int32_t answer;
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
	memcpy(CMSG_DATA(c), fds, (size_t)nfds * sizeof(int));
	if (sendmsg(g->fd, &m, MSG_NOSIGNAL) < 0)
		return -errno;
	do
		n = recv(g->fd, &answer, sizeof(answer), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(answer) ? answer : -EPIPE;
}

int guard_back(struct guard *g, int fuse, int fd)
{
	return ask(g, 0, (int[]){fuse, fd}, 2);
}

void guard_unback(struct guard *g, int fuse, int id)
{
	ask(g, (uint32_t)id, &fuse, 1);
}

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
	char type[64];
	int id = mount_id(path, type);
	sigset_t all;

	/* Signals are for the daemon (a terminal's ^C comes to both): its death is what counts. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "perfmonfs-guard");
	if (chdir("/") < 0)
		_exit(1);
	keep_only(CAP_SYS_ADMIN);
	answer_requests(fd);
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
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(e, errno, "socketpair: %s", err_name(errno));
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
