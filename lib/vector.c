// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/abi_conv.h"

int vector_pass(const struct ctx_fd *t, unsigned long cmd, void *elements, int n)
{
	if (n < 0)
		return lib_fail(EINVAL);
	if (n == 0)
		return 0;
	if ((unsigned)n > PFM_IOC_SIZE_MAX / _IOC_SIZE(cmd))
		return lib_fail(E2BIG);
	return ctx_fd_command(t, PFM_IOC_VECTOR(cmd, n), elements);
}

/*
 * Elements are written back after an error, too, since their flags show which one was wrong.
 * Unchanged elements are not written, because they may be constants. A call processes a few
 * elements at a time, because a signal handler may have a small stack. Before it executes the first
 * one, it checks that all are readable.
 */
enum { AT_A_TIME = 8, ELEMENT_MAX = 208 };

/* Returns true if the element has changed. */
static bool vector_convert_back(
	const struct abi_conv *conv, const unsigned char *ioc, unsigned char *user)
{
	unsigned char before[ELEMENT_MAX];

	memcpy(before, user, conv->user_size);
	conv->from(ioc, user);
	return memcmp(before, user, conv->user_size) != 0;
}

/* The number of elements up to and including the wrong one; 0 if no element is marked. */
static size_t vector_count_done(const struct abi_conv *conv, const unsigned char *ioc, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (abi_has_error(ioc + i * _IOC_SIZE(conv->cmd)))
			return i + 1;
	return 0;
}

static int vector_execute(
	const struct ctx_fd *t, const struct abi_conv *conv, unsigned char *user, size_t n)
{
	_Alignas(8) unsigned char copy[AT_A_TIME * ELEMENT_MAX];
	_Alignas(8) unsigned char ioc[AT_A_TIME * ELEMENT_MAX] = {0};
	const size_t ioc_size = _IOC_SIZE(conv->cmd);
	bool changed = false;

	if (copy_in(copy, user, n * conv->user_size) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		conv->to(copy + i * conv->user_size, ioc + i * ioc_size);
	int rc = ctx_fd_command(t, PFM_IOC_VECTOR(conv->cmd, n), ioc);
	int err = errno;
	if (rc < 0)
		n = vector_count_done(conv, ioc, n);
	for (size_t i = 0; i < n; i++)
		changed |=
			vector_convert_back(conv, ioc + i * ioc_size, copy + i * conv->user_size);
	if (changed && copy_out(user, copy, n * conv->user_size) < 0)
		return -1;
	return rc < 0 ? lib_fail(err) : 0;
}

enum { ALWAYS_ALLOWED = 4096 }; /* bytes; the lower limit of config/arg_size_max */

/* Whether @size is within the limit. If the limit is unknown, the daemon checks each piece of the
 * vector that it receives. */
static bool vector_is_allowed(const struct device *d, size_t size)
{
	static const char path[] = "config/arg_size_max";
	const int flags = O_RDONLY | O_CLOEXEC;
	char text[32];
	int err = errno, fd;
	ssize_t n;

	if (size <= ALWAYS_ALLOWED)
		return true;
	fd = d ? mount_open_on(d, path, flags) : mount_open(path, flags);
	n = fd < 0 ? -1 : nocancel_read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		nocancel_close(fd);
	errno = err;
	if (n <= 0)
		return true;
	text[n] = 0;
	return size <= strtoul(text, NULL, 10);
}

int vector_check(const struct device *d, int n, size_t element_size)
{
	if (n < 0)
		return lib_fail(EINVAL);
	if ((unsigned)n > PFM_IOC_SIZE_MAX / element_size ||
		!vector_is_allowed(d, (size_t)n * element_size))
		return lib_fail(E2BIG);
	return 0;
}

int vector_convert(const struct ctx_fd *t, const struct abi_conv *conv, void *user, int n)
{
	unsigned char *next = user;

	if (vector_check(&t->device, n, conv->user_size) < 0)
		return -1;
	if (n > AT_A_TIME && copy_check(user, (size_t)n * conv->user_size) < 0)
		return -1;
	while (n > 0) {
		int now = n < AT_A_TIME ? n : AT_A_TIME;
		if (vector_execute(t, conv, next, (size_t)now) < 0)
			return -1;
		next += (size_t)now * conv->user_size;
		n -= now;
	}
	return 0;
}

int vector_convert_fd(int fd, const struct abi_conv *conv, void *user, int n)
{
	struct ctx_fd t;

	return conv->get(&t, fd) < 0 ? -1 : vector_convert(&t, conv, user, n);
}
