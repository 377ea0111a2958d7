// SPDX-License-Identifier: MIT
#include "daemon/fs/session/privhelper.h"

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
#include "daemon/fs/session/mount.h"

/* From Linux 6.9, under the kernel's names. */
#ifndef FUSE_DEV_IOC_BACKING_OPEN
struct fuse_backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};
#define FUSE_DEV_IOC_BACKING_OPEN  _IOW(FUSE_DEV_IOC_MAGIC, 1, struct fuse_backing_map)
#define FUSE_DEV_IOC_BACKING_CLOSE _IOW(FUSE_DEV_IOC_MAGIC, 2, uint32_t)
#endif

struct privhelper {
	pid_t pid;
	/* The daemon's end of the socket; it is closed when the daemon ends. */
	int fd;
};

/* A message to the helper, which keeps none of the descriptors in it. */
struct privhelper_order {
	/* The id to unregister, if there is no memory to register. */
	uint32_t id;
	/* The connection to the kernel, and the memory to register; -1 if there is none. */
	int fd[2];
};

static ssize_t privhelper_receive(int sock, struct privhelper_order *a)
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

static int32_t privhelper_execute(const struct privhelper_order *a)
{
	struct fuse_backing_map map = {.fd = a->fd[1]};
	int rc = a->fd[1] >= 0 ? ioctl(a->fd[0], FUSE_DEV_IOC_BACKING_OPEN, &map)
			       : ioctl(a->fd[0], FUSE_DEV_IOC_BACKING_CLOSE, &a->id);

	return rc < 0 ? -errno : rc;
}

static void privhelper_serve(int sock)
{
	struct privhelper_order a;
	int32_t answer;

	while (privhelper_receive(sock, &a) > 0) {
		answer = privhelper_execute(&a);
		for (int i = 0; i < 2; i++)
			if (a.fd[i] >= 0)
				close(a.fd[i]);
		if (send(sock, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			return;
	}
}

static int privhelper_send(const struct privhelper *p, uint32_t id, const int *fds, int nfds)
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
	if (sendmsg(p->fd, &m, MSG_NOSIGNAL) < 0)
		return -errno;
	do
		n = recv(p->fd, &answer, sizeof(answer), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(answer) ? answer : -EPIPE;
}

int privhelper_backing_open(struct privhelper *p, int fuse, int fd)
{
	return privhelper_send(p, 0, (int[]){fuse, fd}, 2);
}

void privhelper_backing_close(struct privhelper *p, int fuse, int id)
{
	privhelper_send(p, (uint32_t)id, &fuse, 1);
}

static void privhelper_keep_only(cap_value_t cap)
{
	cap_t caps = cap_init();

	if (!caps)
		return;
	cap_set_flag(caps, CAP_PERMITTED, 1, &cap, CAP_SET);
	cap_set_flag(caps, CAP_EFFECTIVE, 1, &cap, CAP_SET);
	cap_set_proc(caps);
	cap_free(caps);
}

static _Noreturn void privhelper_main(const char *path, int fd)
{
	struct mount_line mounted, last;
	bool known = mount_find(path, &mounted);
	sigset_t all;

	/* The daemon handles signals, although a terminal's ^C is sent to both processes. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "perfmonfs-priv");
	if (chdir("/") < 0)
		_exit(1);
	privhelper_keep_only(CAP_SYS_ADMIN);
	privhelper_serve(fd);
	/* After an unmount by the user, this may be another mount with the same id. */
	if (known && mount_find(path, &last) && last.id == mounted.id &&
		strcmp(last.source, mounted.source) == 0)
		umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
	_exit(0);
}

/* The helper must not keep any device or terminal of the daemon open. */
static void privhelper_close_all_but(int fd)
{
	int null = open("/dev/null", O_RDWR);

	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	if (fd > 3)
		close_range(3, (unsigned)fd - 1, 0);
	close_range((unsigned)fd + 1, ~0U, 0);
}

int privhelper_start(const char *mountpoint, struct privhelper **out, struct err *e)
{
	CLEANUP_FREE char *path = realpath(mountpoint, NULL);
	CLEANUP_FREE struct privhelper *p = calloc(1, sizeof(*p));
	int fds[2];

	if (!path || !p)
		return err_set(e, errno, "mount point: %s: %s", mountpoint, err_name(errno));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(e, errno, "socketpair: %s", err_name(errno));
	p->pid = fork();
	if (p->pid < 0) {
		close(fds[0]);
		close(fds[1]);
		return err_set(e, errno, "fork: %s", err_name(errno));
	}
	if (p->pid == 0) {
		privhelper_close_all_but(fds[0]);
		privhelper_main(path, fds[0]);
	}
	close(fds[0]);
	p->fd = fds[1];
	*out = take_ptr(&p);
	return 0;
}

void privhelper_end(struct privhelper *p)
{
	close(p->fd);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(p);
}
