// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "lib/lines.h"

/* The kernel answers by itself, without asking the daemon. */
int target_get(struct target *t, int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) < 0 ||
		!S_ISREG(st.stx_mode))
		return fail(EBADF);
	t->fd = fd;
	t->device = (struct device){st.stx_dev_major, st.stx_dev_minor};
	t->inode = st.stx_ino;
	return mount_check(&t->device);
}

/*
 * Another process may have unloaded it, and loaded it elsewhere: that is looked into before anybody
 * is refused. What cannot be told, the command itself will say.
 */
static bool is_elsewhere(const struct target *t, bool reads)
{
	struct pfm_ioc_info info;
	struct known k;

	known_get(t, &k);
	if (k.cpu == KNOWN_NO_CPU || k.cpu == load_this_cpu() || load_from_anywhere())
		return false;
	if (!target_info(t, &info) || info.state == PFM_IOC_STATE_UNLOADED)
		return false;
	known_set_cpu(t, (int)info.cpu);
	return (int)info.cpu != load_this_cpu() && !(reads && info.state == PFM_IOC_STATE_MASKED);
}

int target_here(struct target *t, int fd)
{
	if (target_get(t, fd) < 0)
		return -1;
	return is_elsewhere(t, false) ? fail(EBUSY) : 0;
}

int target_to_read(struct target *t, int fd)
{
	if (target_get(t, fd) < 0)
		return -1;
	return is_elsewhere(t, true) ? fail(EBUSY) : 0;
}

int target_command(const struct target *t, unsigned long cmd, void *arg)
{
	int err = errno, rc;

	/* A signal that comes before the daemon has begun is no news to the caller. */
	do {
		rc = ioctl(t->fd, cmd, arg);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0)
		errno = err;
	else if (errno == ENOTTY)
		errno = EBADF;
	else if (errno == ERANGE) /* the tree's, of a timeout */
		errno = EINVAL;
	return rc;
}

bool target_info(const struct target *t, struct pfm_ioc_info *info)
{
	int err = errno;
	bool told = target_command(t, PFM_IOC_INFO, info) == 0;

	errno = err;
	return told;
}

int target_plain(int fd, unsigned long cmd)
{
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : target_command(&t, cmd, NULL);
}

bool target_is_unloaded(const struct target *t)
{
	struct pfm_ioc_info info;

	return target_info(t, &info) && info.state == PFM_IOC_STATE_UNLOADED;
}

int target_busy_if_unloaded(const struct target *t, int rc)
{
	int err = errno;

	if (rc < 0 && err == EINVAL)
		return fail(target_is_unloaded(t) ? EBUSY : EINVAL);
	return rc;
}

int target_restart(const struct target *t)
{
	return target_busy_if_unloaded(t, target_command(t, PFM_IOC_RESTART, NULL));
}

bool target_is_gone(const struct device *d, uint64_t number)
{
	char path[32] = "ctx/";
	int err = errno, fd;

	if (number == KNOWN_NO_NUMBER)
		return true; /* it cannot be told, and little was known */
	lines_number(path + strlen(path), number);
	fd = mount_open_on(d, path, O_PATH | O_CLOEXEC);
	bool gone = fd < 0 && (errno == ENOENT || errno == ENOSYS || errno == ENOTCONN);
	if (fd >= 0)
		file_close(fd);
	errno = err;
	return gone;
}
