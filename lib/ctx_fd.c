// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "lib/debug.h"
#include "lib/lines.h"

/* Uses AT_STATX_DONT_SYNC, so that the kernel answers from its inode, without a request to the
 * daemon. */
int ctx_fd_stat(struct ctx_fd *t, int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) < 0 ||
		!S_ISREG(st.stx_mode))
		return lib_fail(EBADF);
	t->fd = fd;
	t->device = (struct device){st.stx_dev_major, st.stx_dev_minor};
	t->inode = st.stx_ino;
	return 0;
}

int ctx_fd_get(struct ctx_fd *t, int fd)
{
	return ctx_fd_stat(t, fd) < 0 ? -1 : mount_check(&t->device);
}

int ctx_fd_command(const struct ctx_fd *t, unsigned long cmd, void *arg)
{
	int err = errno, rc;

	/* perfmon2's calls never failed with EINTR. After EINTR, the daemon has not started the
	 * command. */
	do {
		rc = ioctl(t->fd, cmd, arg);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0) {
		errno = err;
		return 0;
	}
	debug_daemon_refused();
	if (errno == ENOTTY)
		errno = EBADF;
	else if (errno == ERANGE) /* the timeout is out of range; perfmon2 has EINVAL */
		errno = EINVAL;
	return rc;
}

bool ctx_fd_info(const struct ctx_fd *t, struct pfm_ioc_info *info)
{
	int err = errno;
	bool ok = ctx_fd_command(t, PFM_IOC_INFO, info) == 0;

	errno = err;
	return ok;
}

bool ctx_fd_is_unloaded(const struct ctx_fd *t)
{
	struct pfm_ioc_info info;

	return ctx_fd_info(t, &info) && info.state == PFM_IOC_STATE_UNLOADED;
}

int ctx_fd_busy_if_unloaded(const struct ctx_fd *t, int rc)
{
	int err = errno;

	if (rc < 0 && err == EINVAL)
		return lib_fail(ctx_fd_is_unloaded(t) ? EBUSY : EINVAL);
	return rc;
}

int ctx_fd_restart(const struct ctx_fd *t)
{
	return ctx_fd_busy_if_unloaded(t, ctx_fd_command(t, PFM_IOC_RESTART, NULL));
}

bool ctx_fd_is_gone(const struct device *d, uint64_t number)
{
	char path[32] = "ctx/";
	int err = errno, fd;

	if (number == CTX_CACHE_NO_NUMBER)
		return true;
	lines_number(path + strlen(path), number);
	fd = mount_open_on(d, path, O_PATH | O_CLOEXEC);
	bool gone = fd < 0 && (errno == ENOENT || errno == ENOSYS || errno == ENOTCONN);
	if (fd >= 0)
		nocancel_close(fd);
	errno = err;
	return gone;
}
