// SPDX-License-Identifier: MIT
/*
 * System calls that are not cancellation points. perfmon2's calls were not, and a thread cancelled
 * in one of these would leak descriptors.
 */
#include "lib/lib_i.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int nocancel_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, 0);
}

ssize_t nocancel_read(int fd, void *to, size_t size)
{
	return syscall(SYS_read, fd, to, size);
}

ssize_t nocancel_write(int fd, const void *from, size_t size)
{
	return syscall(SYS_write, fd, from, size);
}

void nocancel_close(int fd)
{
	int err = errno;

	syscall(SYS_close, fd);
	errno = err;
}
