// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"

int regular_open(const char *path)
{
	CLEANUP_CLOSE int at = open(path, O_PATH | O_CLOEXEC);
	char link[40];
	struct stat st;
	int fd;

	if (at < 0 || fstat(at, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
