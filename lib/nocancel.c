// SPDX-License-Identifier: MIT
/*
 * Files, by system calls that are no cancellation points: perfmon2's calls were none, and a thread
 * that ended in one would leave descriptors behind.
 */
#include "lib/lib_i.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int file_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, 0);
}

ssize_t file_read(int fd, void *to, size_t size)
{
	return syscall(SYS_read, fd, to, size);
}

ssize_t file_write(int fd, const void *from, size_t size)
{
	return syscall(SYS_write, fd, from, size);
}

void file_close(int fd)
{
	int err = errno;

	syscall(SYS_close, fd);
	errno = err;
}
