// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sets.h"

int vector_direct(const struct target *t, unsigned long cmd, void *elements, int n)
{
	if (n < 0)
		return fail(EINVAL);
	if (n == 0)
		return 0;
	if ((unsigned)n > PFM_IOC_SIZE_MAX / _IOC_SIZE(cmd))
		return fail(E2BIG);
	return target_command(t, PFM_IOC_VECTOR(cmd, n), elements);
}

/*
 * Elements of another layout are done some at a time, in order, as the interface promises; they are
 * written back after an error, too: they say which one was wrong. What has not changed is not
 * written, since it may be the caller's constants. Few at a time, because the stack may be that of
 * a signal handler; but before the first is done, all can be read.
 */
enum { AT_A_TIME = 8, ELEMENT_MAX = 208 };

/* Whether that has changed anything. */
static bool convert(const struct shape *s, const unsigned char *ours, unsigned char *theirs)
{
	unsigned char before[ELEMENT_MAX];

	memcpy(before, theirs, s->theirs);
	s->from(ours, theirs);
	return memcmp(before, theirs, s->theirs) != 0;
}

/* How many the command has come to, the one that was wrong among them; 0 if that is not known. */
static size_t reached(const struct shape *s, const unsigned char *ours, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_error(ours + i * s->ours))
			return i + 1;
	return 0;
}

static int some(const struct target *t, const struct shape *s, unsigned char *theirs, size_t n)
{
	_Alignas(8) unsigned char copy[AT_A_TIME * ELEMENT_MAX];
	_Alignas(8) unsigned char ours[AT_A_TIME * ELEMENT_MAX] = {0};
	bool changed = false;

	if (copy_in(copy, theirs, n * s->theirs) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		s->to(t, copy + i * s->theirs, ours + i * s->ours);
	int rc = target_command(t, PFM_IOC_VECTOR(s->cmd, n), ours);
	int err = errno;
	if (rc < 0)
		n = reached(s, ours, n);
	for (size_t i = 0; i < n; i++)
		changed |= convert(s, ours + i * s->ours, copy + i * s->theirs);
	if (changed && copy_out(theirs, copy, n * s->theirs) < 0)
		return -1;
	return rc < 0 ? fail(err) : 0;
}

enum { ALWAYS_ALLOWED = 4096 }; /* whatever config/arg_size_max is */

/* What a call may have, all pieces together; if it cannot be told, the daemon sees the pieces. */
static bool is_allowed(const struct target *t, size_t size)
{
	char text[32];
	int err = errno, fd;
	ssize_t n;

	if (size <= ALWAYS_ALLOWED)
		return true;
	fd = mount_open_on(&t->device, "config/arg_size_max", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : file_read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		file_close(fd);
	errno = err;
	if (n <= 0)
		return true;
	text[n] = 0;
	return size <= strtoul(text, NULL, 10);
}

int vector_shaped(const struct target *t, const struct shape *s, void *theirs, int n)
{
	unsigned char *next = theirs;

	if (n < 0)
		return fail(EINVAL);
	if ((unsigned)n > PFM_IOC_SIZE_MAX / s->theirs || !is_allowed(t, (size_t)n * s->theirs))
		return fail(E2BIG);
	if (n > AT_A_TIME && copy_check(theirs, (size_t)n * s->theirs) < 0)
		return -1;
	while (n > 0) {
		int now = n < AT_A_TIME ? n : AT_A_TIME;
		if (some(t, s, next, (size_t)now) < 0)
			return -1;
		next += (size_t)now * s->theirs;
		n -= now;
	}
	return 0;
}
