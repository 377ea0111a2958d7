// SPDX-License-Identifier: MIT
/*
 * Access to the caller's memory. The kernel does the copying, so a wrong address fails with EFAULT,
 * as in a system call. If a seccomp filter forbids that, the library copies, and a wrong address
 * raises SIGSEGV.
 */
#include "lib/lib_i.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum direction { IN, OUT };
enum { SMALLEST_PAGE = 4096 };

/* Returns the number of bytes copied, or -1 for EFAULT. The source is not changed in either
 * direction. */
static ssize_t copy_bytes(enum direction d, void *ioc, void *user, size_t size)
{
	struct iovec local = {ioc, size}, remote = {user, size};
	int err = errno;
	ssize_t n = d == IN ? process_vm_readv(getpid(), &local, 1, &remote, 1, 0)
			    : process_vm_writev(getpid(), &local, 1, &remote, 1, 0);

	if (n >= 0 || errno == EFAULT)
		return n;
	errno = err;
	if (d == IN)
		memcpy(ioc, user, size);
	else
		memcpy(user, ioc, size);
	return (ssize_t)size;
}

int copy_in(void *to, const void *user, size_t size)
{
	return copy_bytes(IN, to, (void *)(uintptr_t)user, size) == (ssize_t)size
		       ? 0
		       : lib_fail(EFAULT);
}

int copy_out(void *user, const void *from, size_t size)
{
	return copy_bytes(OUT, (void *)(uintptr_t)from, user, size) == (ssize_t)size
		       ? 0
		       : lib_fail(EFAULT);
}

int copy_check(const void *user, size_t size)
{
	uintptr_t at = (uintptr_t)user, last = at + size - 1;
	char byte;

	for (; at < last; at += SMALLEST_PAGE)
		if (copy_in(&byte, (const void *)at, 1) < 0)
			return -1;
	return copy_in(&byte, (const void *)last, 1);
}

int copy_string(char *to, const char *user, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (copy_in(to + i, user + i, 1) < 0)
			return -1;
		if (!to[i])
			return i ? 0 : lib_fail(EINVAL);
	}
	return lib_fail(EINVAL);
}
