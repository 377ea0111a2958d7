// SPDX-License-Identifier: MIT
/*
 * The caller's memory, as system calls take it: an address that is none is EFAULT. The kernel
 * copies, because only it can tell; where it may not (a filter of system calls), the library does,
 * and a wrong address is a signal.
 */
#include "lib/lib_i.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum direction { IN, OUT };
enum { SMALLEST_PAGE = 4096 };

/* How much has been copied, -1: EFAULT. What is @to in one direction is const in the other. */
static ssize_t transfer(enum direction d, void *ours, void *theirs, size_t size)
{
	struct iovec local = {ours, size}, remote = {theirs, size};
	int err = errno;
	ssize_t n = d == IN ? process_vm_readv(getpid(), &local, 1, &remote, 1, 0)
			    : process_vm_writev(getpid(), &local, 1, &remote, 1, 0);

	if (n >= 0 || errno == EFAULT)
		return n;
	errno = err;
	if (d == IN)
		memcpy(ours, theirs, size);
	else
		memcpy(theirs, ours, size);
	return (ssize_t)size;
}

int copy_in(void *to, const void *theirs, size_t size)
{
	return transfer(IN, to, (void *)(uintptr_t)theirs, size) == (ssize_t)size ? 0
										  : fail(EFAULT);
}

int copy_out(void *theirs, const void *from, size_t size)
{
	return transfer(OUT, (void *)(uintptr_t)from, theirs, size) == (ssize_t)size ? 0
										     : fail(EFAULT);
}

int copy_check(const void *theirs, size_t size)
{
	uintptr_t at = (uintptr_t)theirs, last = at + size - 1;
	char byte;

	for (; at < last; at += SMALLEST_PAGE)
		if (copy_in(&byte, (const void *)at, 1) < 0)
			return -1;
	return copy_in(&byte, (const void *)last, 1);
}

int copy_string(char *to, const char *theirs, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (copy_in(to + i, theirs + i, 1) < 0)
			return -1;
		if (!to[i])
			return i ? 0 : fail(EINVAL);
	}
	return fail(EINVAL);
}
