// SPDX-License-Identifier: MIT
/*
 * fcntl(2), for signals at notifications (specification 3.3.7): the kernel lets owner, signal and
 * O_ASYNC of a FUSE file be set, but raises no signal. So it keeps them, over fork, exec and dup,
 * and the daemon is told of them whenever they change. For any other descriptor, and for what is
 * not about signals, this is the C library's.
 */
#include "lib/lib_i.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

/* The C library's own; being asked for by this name, it is not the one below. */
int __fcntl(int fd, int cmd, ...);

/* Under names of their own here, because <fcntl.h> may make one of the other. */
int by_fcntl(int fd, int cmd, ...) __asm__("fcntl");
int by_fcntl64(int fd, int cmd, ...) __asm__("fcntl64");

/* Who is to be signalled, by what the kernel keeps. */
static int wanted(int fd, struct pfm_ioc_signal *s)
{
	struct f_owner_ex owner;
	int flags = __fcntl(fd, F_GETFL), sig = __fcntl(fd, F_GETSIG);

	if (flags < 0 || sig < 0 || __fcntl(fd, F_GETOWN_EX, &owner) < 0)
		return -1;
	s->fd = fd;
	s->owner = owner.pid;
	s->type = owner.type == F_OWNER_TID ? PFM_IOC_OWNER_TID : PFM_IOC_OWNER_PID;
	/* As with kernels, it takes all of it, and without a signal of choice it is SIGIO. */
	if (flags & O_ASYNC && owner.pid)
		s->sig = sig ? sig : SIGIO;
	return owner.type == F_OWNER_PGRP && owner.pid ? fail(EINVAL) : 0;
}

static int tell(int fd)
{
	struct pfm_ioc_signal s = {0};
	struct target t;

	if (target_get(&t, fd) < 0 || wanted(fd, &s) < 0)
		return -1;
	/* 0 would be the caller. */
	if (!s.sig)
		s.owner = 0;
	return target_command(&t, PFM_IOC_SIGNAL, &s);
}

/* What was in force before, if the daemon refuses. */
struct before {
	int flags, sig;
	struct f_owner_ex owner;
};

static void remember(int fd, struct before *b)
{
	b->flags = __fcntl(fd, F_GETFL);
	b->sig = __fcntl(fd, F_GETSIG);
	if (__fcntl(fd, F_GETOWN_EX, &b->owner) < 0)
		b->owner.pid = 0;
}

static void take_back(int fd, int cmd, struct before *b)
{
	int err = errno;

	if (cmd == F_SETFL)
		__fcntl(fd, F_SETFL, b->flags);
	else if (cmd == F_SETSIG)
		__fcntl(fd, F_SETSIG, b->sig);
	else
		__fcntl(fd, F_SETOWN_EX, &b->owner);
	errno = err;
}

static bool about_signals(int fd, int cmd, const void *arg)
{
	if (cmd == F_SETFL)
		return ((int)(intptr_t)arg ^ __fcntl(fd, F_GETFL)) & O_ASYNC;
	return cmd == F_SETOWN || cmd == F_SETOWN_EX || cmd == F_SETSIG;
}

static int control(int fd, int cmd, void *arg)
{
	struct target t;
	struct before b;
	int err = errno, rc;

	if (!about_signals(fd, cmd, arg) || target_get(&t, fd) < 0) {
		errno = err;
		return __fcntl(fd, cmd, arg);
	}
	remember(fd, &b);
	rc = __fcntl(fd, cmd, arg);
	if (rc < 0)
		return rc;
	if (tell(fd) < 0) {
		take_back(fd, cmd, &b);
		return -1;
	}
	errno = err;
	return rc;
}

/* An argument, if there is one, is an int or a pointer; either is in this. */
API int by_fcntl(int fd, int cmd, ...)
{
	va_list ap;

	va_start(ap, cmd);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	return control(fd, cmd, arg);
}

API int by_fcntl64(int fd, int cmd, ...)
{
	va_list ap;

	va_start(ap, cmd);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	return control(fd, cmd, arg);
}
