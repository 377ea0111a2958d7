// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <errno.h>

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
 * written back after an error, too: they say which one was wrong. Few at a time, because the stack
 * may be that of a signal handler.
 */
enum { AT_A_TIME = 8, ELEMENT_MAX = 208 };

static int some(const struct target *t, const struct shape *s, unsigned char *theirs, size_t n)
{
	_Alignas(8) unsigned char copy[AT_A_TIME * ELEMENT_MAX];
	_Alignas(8) unsigned char ours[AT_A_TIME * ELEMENT_MAX] = {0};

	if (copy_in(copy, theirs, n * s->theirs) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		s->to(t, copy + i * s->theirs, ours + i * s->ours);
	int rc = target_command(t, PFM_IOC_VECTOR(s->cmd, n), ours);
	int err = errno;
	for (size_t i = 0; i < n; i++)
		s->from(ours + i * s->ours, copy + i * s->theirs);
	if (copy_out(theirs, copy, n * s->theirs) < 0)
		return -1;
	return rc < 0 ? fail(err) : 0;
}

int vector_shaped(const struct target *t, const struct shape *s, void *theirs, int n)
{
	unsigned char *next = theirs;

	if (n < 0)
		return fail(EINVAL);
	if ((unsigned)n > PFM_IOC_SIZE_MAX / s->theirs)
		return fail(E2BIG);
	while (n > 0) {
		int now = n < AT_A_TIME ? n : AT_A_TIME;
		if (some(t, s, next, (size_t)now) < 0)
			return -1;
		next += (size_t)now * s->theirs;
		n -= now;
	}
	return 0;
}
