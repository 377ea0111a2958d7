// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/private_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/own_build.h"
#include "tools/pfm/tree/namespace.h"
#include "tools/pfm/tree/user_mount.h"

/* A directory that every system has, and that the daemon does not need. */
#define PRIVATE_POINT "/mnt"

/* Finds the daemon's program. Call it before entering a mount namespace: in a chroot, the kernel
 * has no path of pfm afterwards. */
static void private_find(char program[PATH_MAX])
{
	if (!own_build_find("/tools/pfm/pfm", "/daemon/perfmonfs", program))
		snprintf(program, PATH_MAX, "perfmonfs");
}

/* Becomes the daemon, in the child, and serves @mountpoint. On failure, @log gets the reason. */
static void private_exec(
	pid_t parent, const char *program, const char *backend, const char *mountpoint, int log)
{
	char option[64];
	sigset_t none;

	snprintf(option, sizeof(option), "-obackend=%s,nonempty", backend);
	dup2(log, STDERR_FILENO);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Keys at the terminal are for the monitored command; the daemon ends after pfm. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	execlp(program, "perfmonfs", "-f", option, mountpoint, (char *)NULL);
	execl(SBINDIR "/perfmonfs", "perfmonfs", "-f", option, mountpoint, (char *)NULL);
	fprintf(stderr, "perfmonfs: %s: the daemon is not in PATH\n", err_name(errno));
	_exit(1);
}

static void private_exec_root(pid_t parent, const char *backend, const char *socket, int log)
{
	char program[PATH_MAX];
	struct err e;

	private_find(program);
	setenv("NOTIFY_SOCKET", socket, 1);
	if (namespace_unshare(&e) == 0)
		private_exec(parent, program, backend, PRIVATE_POINT, log);
	dprintf(log, "%s\n", e.text);
	_exit(1);
}

static void private_exec_user(pid_t parent, const char *backend, int connection, int log)
{
	char mountpoint[32], program[PATH_MAX];

	private_find(program);
	/* It names the socket of a service that runs pfm. */
	unsetenv("NOTIFY_SOCKET");
	/* The copy stays open in the daemon. */
	snprintf(mountpoint, sizeof(mountpoint), "/dev/fd/%d", dup(connection));
	private_exec(parent, program, backend, mountpoint, log);
}

/* The mount's root, seen through the daemon's namespace; -1 while it is not mounted. */
static int private_root(pid_t daemon)
{
	char path[64];
	CLEANUP_CLOSE int fd = -1;
	struct statfs fs;

	snprintf(path, sizeof(path), "/proc/%d/root" PRIVATE_POINT, (int)daemon);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != FUSE_SUPER_MAGIC)
		return -1;
	if (faccessat(fd, "version", R_OK, 0) < 0)
		return -1;
	return take_fd(&fd);
}

/* Fails with the first line of the daemon's output as sentence. */
static int private_sentence(int log, struct err *e)
{
	static const char prefix[] = "perfmonfs: ";
	char line[sizeof(e->text)];
	ssize_t n = pread(log, line, sizeof(line) - 1, 0);
	const char *text = line;

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, prefix, sizeof(prefix) - 1) == 0)
		text += sizeof(prefix) - 1;
	return err_set(
		e, ENXIO, "%s", *text ? text : "the private daemon ended without an error message");
}

static int private_log(struct err *e)
{
	int log = memfd_create("perfmonfs", MFD_CLOEXEC);

	return log < 0 ? err_set(e, errno, "memfd_create: %s", err_name(errno)) : log;
}

enum { PRIVATE_SOCKET = 16 };

/* Opens a socket for sd_notify(3), by which the daemon tells that it serves. The kernel chooses its
 * @name. */
static int private_listen(char name[PRIVATE_SOCKET], struct err *e)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	socklen_t n = sizeof(addr);
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr.sun_family)) < 0 ||
		getsockname(fd, (struct sockaddr *)&addr, &n) < 0)
		return err_set(e, errno, "no socket for the daemon: %s", err_name(errno));
	n -= (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1;
	snprintf(name, PRIVATE_SOCKET, "@%.*s", (int)n, addr.sun_path + 1);
	return take_fd(&fd);
}

/* Waits until the daemon serves. Other programs may write to the socket, too. */
static int private_wait(struct private_daemon *d, int ready, int log, struct err *e)
{
	CLEANUP_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, d->pid, 0);
	struct pollfd fds[] = {{.fd = ready, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	char message[16];
	int timeout = -1;

	if (pidfd < 0)
		return err_set(e, errno, "pidfd_open: %s", err_name(errno));
	do {
		if (poll(fds, 2, timeout) > 0 && fds[1].revents) {
			waitpid(d->pid, NULL, 0);
			return private_sentence(log, e);
		}
		/* A signal may interrupt the look at the mount, which is repeated then. */
		if (recv(ready, message, sizeof(message), MSG_DONTWAIT) > 0)
			timeout = 1;
	} while ((d->dir = private_root(d->pid)) < 0);
	return 0;
}

int private_start(struct private_daemon *d, const char *backend, struct err *e)
{
	char socket[PRIVATE_SOCKET];
	CLEANUP_CLOSE int log = private_log(e), ready = -1;
	pid_t parent = getpid();

	if (log < 0)
		return log;
	ready = private_listen(socket, e);
	if (ready < 0)
		return ready;
	d->pid = fork();
	if (d->pid < 0)
		return err_set(e, errno, "fork: %s", err_name(errno));
	if (d->pid == 0)
		private_exec_root(parent, backend, socket, log);
	return private_wait(d, ready, log, e);
}

int private_start_user(struct private_daemon *d, const char *backend, struct err *e)
{
	CLEANUP_CLOSE int log = private_log(e);
	struct user_mount m;
	pid_t parent = getpid();

	if (log < 0 || user_mount_make(&m, e) < 0)
		return -e->no;
	d->dir = m.root;
	d->pid = fork();
	if (d->pid == 0)
		private_exec_user(parent, backend, m.connection, log);
	/* Closed here, so that the connection ends with the daemon, and no request waits for an
	 * answer. */
	close(m.connection);
	if (d->pid > 0 && faccessat(d->dir, "version", R_OK, 0) == 0)
		return 0;
	close(d->dir);
	if (d->pid < 0)
		return err_set(e, errno, "fork: %s", err_name(errno));
	private_stop(d->pid);
	return private_sentence(log, e);
}

void private_stop(pid_t daemon)
{
	kill(daemon, SIGTERM);
	while (waitpid(daemon, NULL, 0) < 0 && errno == EINTR)
		;
}
