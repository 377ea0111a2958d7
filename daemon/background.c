// SPDX-License-Identifier: MIT
#include "daemon/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"

/* sd_notify(3): a datagram to the socket that the environment names. */
static void background_notify_systemd(const char *message)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	CLEANUP_CLOSE int fd = -1;
	size_t n = path ? strlen(path) : 0;

	if (!n || n >= sizeof(addr.sun_path))
		return;
	memcpy(addr.sun_path, path, n);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&addr,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

void background_alive(void)
{
	background_notify_systemd("WATCHDOG=1");
}

/* sd_watchdog_enabled(3) */
uint64_t background_watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t v;
	struct err e;

	if (pid && (num_u64(slice_of(pid), &v, &e) < 0 || v != (uint64_t)getpid()))
		return 0;
	return usec && num_max(slice_of(usec), UINT64_MAX / 1000, &v, &e) == 0 ? v * 1000 : 0;
}

void background_ready(void *background)
{
	struct background *b = background;
	CLEANUP_CLOSE int null = -1;
	char ok = 0;
	int rc;

	background_notify_systemd("READY=1");
	if (b->pipe < 0)
		return;
	/* Only now: relative paths in options start at the caller's directory. */
	rc = chdir("/");
	(void)rc;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (write(b->pipe, &ok, 1) == 1)
		close(b->pipe);
	b->pipe = -1;
}

int background_fork(struct background *b, struct err *e)
{
	int fds[2];
	char ok;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(e, errno, "pipe: %s", err_name(errno));
	pid = fork();
	if (pid < 0)
		return err_set(e, errno, "fork: %s", err_name(errno));
	if (pid == 0) {
		close(fds[0]);
		b->pipe = fds[1];
		setsid();
		return 0;
	}
	close(fds[1]);
	if (read(fds[0], &ok, 1) == 1)
		_exit(0);
	waitpid(pid, NULL, 0);
	_exit(1);
}
