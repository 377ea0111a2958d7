// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"

/* Whether the kernel makes the file's content while it is read, which may wait, never end, or take
 * something from other readers. */
static bool regular_is_made(int at)
{
	struct statfs fs;

	if (fstatfs(at, &fs) < 0)
		return true;
	switch ((unsigned long)fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case TRACEFS_MAGIC:
	case DEBUGFS_MAGIC:
	case SECURITYFS_MAGIC:
		return true;
	default:
		return false;
	}
}

int regular_open(const char *path)
{
	CLEANUP_CLOSE int at = open(path, O_PATH | O_CLOEXEC);

	return at < 0 ? -errno : regular_reopen(at);
}

int regular_reopen(int at)
{
	char link[40];
	struct stat st;
	int fd;

	if (fstat(at, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || regular_is_made(at))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
	/* Does not wait until a lease on the file is broken. */
	fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void regular_identity(int fd, uint8_t id[REGULAR_IDENTITY])
{
	uint64_t inode, modified;
	uint32_t device;
	struct stat st;

	memset(id, 0, REGULAR_IDENTITY);
	if (fstat(fd, &st) < 0)
		return;
	inode = st.st_ino;
	modified = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	device = (uint32_t)st.st_dev;
	memcpy(id, &inode, sizeof(inode));
	memcpy(id + sizeof(inode), &modified, sizeof(modified));
	memcpy(id + sizeof(inode) + sizeof(modified), &device, sizeof(device));
}
