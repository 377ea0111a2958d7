// SPDX-License-Identifier: MIT
/*
 * A child mounts, opens the root of the mount, passes it on, and gives up the mount's path: with
 * its namespace, or by fusermount3. It ignores signals, so that nothing is left behind if pfm is
 * killed.
 */
#include "tools/pfm/tree/user_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tools/pfm/tree/namespace.h"

/* A directory that every system has. It is hidden only in the new mount namespace. */
#define USER_MOUNT_POINT "/mnt"

union user_mount_fds {
	char room[CMSG_SPACE(2 * sizeof(int))];
	struct cmsghdr align;
};

/* Receives a message of @n bytes with up to two descriptors. Returns their number. */
static int user_mount_receive(int sock, void *text, size_t n, int fds[2])
{
	union user_mount_fds control;
	struct iovec iov = {text, n};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room)};
	struct cmsghdr *c;
	ssize_t got;

	while ((got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return 0;
	memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

static void user_mount_send(int sock, const struct user_mount *m)
{
	union user_mount_fds control = {{0}};
	const int fds[2] = {m->connection, m->root};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	(void)sendmsg(sock, &msg, MSG_NOSIGNAL);
}

static int user_mount_open_root(struct user_mount *m, const char *path, struct err *e)
{
	m->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return m->root < 0 ? err_set(e, errno, "%s: %s", path, err_name(errno)) : 0;
}

static int user_mount_open_fuse(struct user_mount *m, struct err *e)
{
	m->connection = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (m->connection >= 0)
		return 0;
	return err_set(e, errno,
		"/dev/fuse: %s: have root run `%s`, or start a container with --device /dev/fuse",
		err_name(errno), errno == EACCES ? "chmod 666 /dev/fuse" : "modprobe fuse");
}

static int user_mount_in_namespace(struct user_mount *m, struct err *e)
{
	char options[128];

	if (namespace_unshare(e) < 0 || user_mount_open_fuse(m, e) < 0)
		return -e->no;
	snprintf(options, sizeof(options),
		"fd=%d,rootmode=40000,user_id=%u,group_id=%u,default_permissions", m->connection,
		(unsigned)geteuid(), (unsigned)getegid());
	if (mount("perfmonfs", USER_MOUNT_POINT, "fuse.perfmonfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		    options) < 0)
		return err_set(e, errno, "mount of FUSE in a user namespace: %s", err_name(errno));
	return user_mount_open_root(m, USER_MOUNT_POINT, e);
}

/* Runs fusermount3, with @sock for passing the connection, and its messages in @said. */
static int user_mount_run(
	int sock, const char *option, const char *value, const char *path, int said)
{
	char number[16];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		dup2(said, STDERR_FILENO);
		snprintf(number, sizeof(number), "%d", sock);
		setenv("_FUSE_COMMFD", number, 1);
		execlp("fusermount3", "fusermount3", option, value, "--", path, (char *)NULL);
		dprintf(said, "fusermount3: %s: install the package fuse3\n", err_name(errno));
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

/* Fails with the first line that fusermount3 has said. */
static int user_mount_refused(int said, struct err *e)
{
	char line[128];
	ssize_t n = pread(said, line, sizeof(line) - 1, 0);

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return err_set(e, EPERM, "%s", *line ? line : "fusermount3 cannot mount");
}

static int user_mount_at(const char *path, struct user_mount *m, struct err *e)
{
	CLEANUP_CLOSE int said = memfd_create("fusermount3", MFD_CLOEXEC);
	int ends[2], rc, fds[2] = {-1, -1};
	char byte;

	if (said < 0)
		return err_set(e, errno, "memfd_create: %s", err_name(errno));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return err_set(e, errno, "socketpair: %s", err_name(errno));
	rc = user_mount_run(ends[1], "-o", "fsname=perfmonfs,subtype=perfmonfs,default_permissions",
		path, said);
	close(ends[1]);
	if (rc == 0 && user_mount_receive(ends[0], &byte, 1, fds) == 1) {
		m->connection = fds[0];
		rc = user_mount_open_root(m, path, e);
		user_mount_run(-1, "-u", "-z", path, said);
	} else {
		rc = user_mount_refused(said, e);
	}
	close(ends[0]);
	return rc;
}

static int user_mount_by_fusermount(struct user_mount *m, struct err *e)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	CLEANUP_FREE char *path = NULL;
	int rc;

	if (asprintf(&path, "%s/perfmonfs-XXXXXX", dir && *dir ? dir : "/tmp") < 0 ||
		!mkdtemp(path))
		return err_set(e, errno, "%s: %s", path ? path : "mkdtemp", err_name(errno));
	rc = user_mount_at(path, m, e);
	rmdir(path);
	return rc;
}

typedef int user_mount_fn(struct user_mount *m, struct err *e);

static void user_mount_child(user_mount_fn *make, int sock)
{
	struct user_mount m = {-1, -1};
	sigset_t all;
	struct err e;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (make(&m, &e) == 0)
		user_mount_send(sock, &m);
	else
		(void)send(sock, &e, sizeof(e), MSG_NOSIGNAL);
	_exit(0);
}

static int user_mount_try(user_mount_fn *make, struct user_mount *m, struct err *e)
{
	int ends[2], fds[2], n;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "socketpair: %s", err_name(errno));
	pid = fork();
	if (pid == 0)
		user_mount_child(make, ends[1]);
	close(ends[1]);
	err_set(e, EPERM, "the child process that mounts was killed");
	n = pid < 0 ? 0 : user_mount_receive(ends[0], e, sizeof(*e), fds);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != 2)
		return -e->no;
	*m = (struct user_mount){fds[0], fds[1]};
	return 0;
}

int user_mount_make(struct user_mount *m, struct err *e)
{
	struct err why, other;

	if (user_mount_try(user_mount_in_namespace, m, &why) < 0 &&
		user_mount_try(user_mount_by_fusermount, m, &other) < 0)
		return err_set(e, why.no, "%.300s; %.120s", why.text, other.text);
	*e = (struct err){0};
	return 0;
}
