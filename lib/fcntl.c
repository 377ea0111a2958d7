// SPDX-License-Identifier: MIT
/*
 * fcntl(2), for signals at notifications (specification 3.3.7). The kernel keeps the owner and the
 * signal of a FUSE file, over fork, exec and dup, but raises none and does not keep O_ASYNC: that
 * is known here, and the daemon is told whenever one of the three changes. For any other
 * descriptor, and for what is not about signals, this is the C library's.
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

/*
 * The owner as the daemon takes it. The caller himself is 0: his number may be another's for the
 * daemon, if he is in another PID namespace.
 */
static void name_owner(struct pfm_ioc_signal *s, const struct f_owner_ex *owner)
{
	bool thread = owner->type == F_OWNER_TID;

	s->type = thread ? PFM_IOC_OWNER_TID : PFM_IOC_OWNER_PID;
	s->owner = owner->pid == (thread ? gettid() : getpid()) ? 0 : owner->pid;
}

/* Who is to be signalled, by what the kernel keeps. Without a signal of choice it is SIGIO. */
static int wanted(int fd, struct pfm_ioc_signal *s)
{
	struct f_owner_ex owner;
	int sig = __fcntl(fd, F_GETSIG);

	if (sig < 0 || __fcntl(fd, F_GETOWN_EX, &owner) < 0)
		return -1;
	if (!owner.pid)
		return 0; /* as with kernels: nobody is signalled */
	if (owner.type == F_OWNER_PGRP)
		return fail(EINVAL);
	s->sig = sig ? sig : SIGIO;
	s->fd = fd;
	name_owner(s, &owner);
	return 0;
}

static int tell(const struct target *t, bool async)
{
	struct pfm_ioc_signal s = {0};

	if (async && wanted(t->fd, &s) < 0)
		return -1;
	return target_command(t, PFM_IOC_SIGNAL, &s);
}

/* Whether anybody may be signalled: another process that shares the file may have asked for it. */
static bool may_be_async(int fd, const struct known *k)
{
	struct f_owner_ex owner;

	return k->async || (__fcntl(fd, F_GETOWN_EX, &owner) == 0 && owner.pid);
}

/* On another file of the mount it has no effect. What cannot be told to end is at an end. */
static int set_async(const struct target *t, bool async, const struct known *k)
{
	if (async ? k->async : !may_be_async(t->fd, k))
		return 0;
	if (tell(t, async) < 0 && async)
		return errno == EBADF ? 0 : -1;
	if (async != k->async)
		known_set_async(t, async);
	return 0;
}

/* O_ASYNC on or off, and the other flags. */
static int set_flags(const struct target *t, int flags, const struct known *k)
{
	int err = errno;

	if (set_async(t, flags & O_ASYNC, k) < 0)
		return -1;
	errno = err;
	return __fcntl(t->fd, F_SETFL, flags & ~O_ASYNC);
}

static int get_flags(const struct target *t, const struct known *k)
{
	int flags = __fcntl(t->fd, F_GETFL);

	return flags < 0 || !k->async ? flags : flags | O_ASYNC;
}

/* An owner or a signal; what was there comes back if the daemon refuses. */
static int set_whom(const struct target *t, int cmd, void *arg, const struct known *k)
{
	struct f_owner_ex owner;
	int sig = __fcntl(t->fd, F_GETSIG), rc, err;

	if (sig < 0 || __fcntl(t->fd, F_GETOWN_EX, &owner) < 0)
		return -1;
	rc = __fcntl(t->fd, cmd, arg);
	if (rc < 0 || !k->async || tell(t, true) == 0)
		return rc;
	err = errno;
	if (cmd == F_SETSIG)
		__fcntl(t->fd, F_SETSIG, sig);
	else
		__fcntl(t->fd, F_SETOWN_EX, &owner);
	return fail(err);
}

static bool about_signals(int cmd)
{
	return cmd == F_SETFL || cmd == F_GETFL || cmd == F_SETOWN || cmd == F_SETOWN_EX ||
	       cmd == F_SETSIG;
}

static int control(int fd, int cmd, void *arg)
{
	struct target t;
	struct known k;
	int err = errno;

	if (!about_signals(cmd) || target_get(&t, fd) < 0) {
		errno = err;
		return __fcntl(fd, cmd, arg);
	}
	known_get(&t, &k);
	switch (cmd) {
	case F_SETFL:
		return set_flags(&t, (int)(intptr_t)arg, &k);
	case F_GETFL:
		return get_flags(&t, &k);
	default:
		return set_whom(&t, cmd, arg, &k);
	}
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
