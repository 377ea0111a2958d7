// SPDX-License-Identifier: MIT
/*
 * fcntl(2), for signals at notifications (specification 3.3.7). For a FUSE file, the kernel keeps
 * the owner and the signal, over fork, exec and dup, but it raises no signal and does not keep
 * O_ASYNC. So the library keeps O_ASYNC, and sends owner, signal and O_ASYNC to the daemon whenever
 * one of them changes. Other descriptors and other commands go to the C library's fcntl().
 */
#include "lib/lib_i.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/debug.h"

/* The C library's fcntl(), under a name that this file does not define. */
int __fcntl(int fd, int cmd, ...);

/* The exported symbols. They need other names in C, since <fcntl.h> may define one as the other. */
int fcntl_api(int fd, int cmd, ...) __asm__("fcntl");
int fcntl64_api(int fd, int cmd, ...) __asm__("fcntl64");

/*
 * Fills in the owner. The caller itself is 0, because its pid may belong to another process in the
 * daemon's PID namespace.
 */
static void fcntl_fill_owner(struct pfm_ioc_signal *s, const struct f_owner_ex *owner)
{
	bool thread = owner->type == F_OWNER_TID;

	s->type = thread ? PFM_IOC_OWNER_TID : PFM_IOC_OWNER_PID;
	s->owner = owner->pid == (thread ? gettid() : getpid()) ? 0 : owner->pid;
}

/* Fills in the kernel's owner and signal; SIGIO if none was set. EINVAL for a process group. */
static int fcntl_fill_signal(int fd, struct pfm_ioc_signal *s)
{
	struct f_owner_ex owner;
	int sig = __fcntl(fd, F_GETSIG);

	if (sig < 0 || __fcntl(fd, F_GETOWN_EX, &owner) < 0)
		return -1;
	if (!owner.pid)
		return 0; /* without an owner there is no signal, as in the kernel */
	if (owner.type == F_OWNER_PGRP)
		return lib_fail(EINVAL);
	s->sig = sig ? sig : SIGIO;
	s->fd = fd;
	fcntl_fill_owner(s, &owner);
	return 0;
}

static int fcntl_send(const struct ctx_fd *t, bool async)
{
	struct pfm_ioc_signal s = {0};

	if (async && fcntl_fill_signal(t->fd, &s) < 0)
		return -1;
	return ctx_fd_command(t, PFM_IOC_SIGNAL, &s);
}

/* False if no signal can be enabled. Another process that shares the file may have set O_ASYNC. */
static bool fcntl_may_be_async(int fd, const struct ctx_cache *c)
{
	struct f_owner_ex owner;

	return c->async || (__fcntl(fd, F_GETOWN_EX, &owner) == 0 && owner.pid);
}

/*
 * Enabling signals has no effect on a file of the mount that is not a context. Disabling them
 * always succeeds: if the daemon does not answer, it raises no signal.
 */
static int fcntl_set_async(const struct ctx_fd *t, bool async, const struct ctx_cache *c)
{
	if (async ? c->async : !fcntl_may_be_async(t->fd, c))
		return 0;
	if (fcntl_send(t, async) < 0 && async)
		return errno == EBADF ? 0 : -1;
	if (async != c->async)
		ctx_cache_set_async(t, async);
	return 0;
}

static int fcntl_set_flags(const struct ctx_fd *t, int flags, const struct ctx_cache *c)
{
	int err = errno;

	if (fcntl_set_async(t, flags & O_ASYNC, c) < 0)
		return -1;
	errno = err;
	return __fcntl(t->fd, F_SETFL, flags & ~O_ASYNC);
}

static int fcntl_get_flags(const struct ctx_fd *t, const struct ctx_cache *c)
{
	int flags = __fcntl(t->fd, F_GETFL);

	return flags < 0 || !c->async ? flags : flags | O_ASYNC;
}

/* True if F_SETOWN was given a number that belongs to no process. The kernel then has no owner. */
static bool fcntl_has_no_owner(int fd, int cmd, void *arg)
{
	struct f_owner_ex owner;

	return cmd == F_SETOWN && (intptr_t)arg > 0 &&
	       (__fcntl(fd, F_GETOWN_EX, &owner) < 0 || !owner.pid);
}

/* Sets the owner or the signal. Restores the previous one if the daemon refuses. */
static int fcntl_set_owner(const struct ctx_fd *t, int cmd, void *arg, const struct ctx_cache *c)
{
	struct f_owner_ex owner;
	int sig = __fcntl(t->fd, F_GETSIG), rc, err;

	if (sig < 0 || __fcntl(t->fd, F_GETOWN_EX, &owner) < 0)
		return -1;
	rc = __fcntl(t->fd, cmd, arg);
	if (rc < 0)
		return rc;
	err = ESRCH;
	if (!fcntl_has_no_owner(t->fd, cmd, arg)) {
		if (!c->async || fcntl_send(t, true) == 0)
			return rc;
		err = errno;
	}
	if (cmd == F_SETSIG)
		__fcntl(t->fd, F_SETSIG, sig);
	else
		__fcntl(t->fd, F_SETOWN_EX, &owner);
	return lib_fail(err);
}

/* True if @tid is a thread of the caller, but not its first one. Preserves errno. */
static bool fcntl_is_own_thread(pid_t tid)
{
	int err = errno;
	bool own = tid > 0 && tid != getpid() && syscall(SYS_tgkill, getpid(), tid, 0) == 0;

	errno = err;
	return own;
}

/* Executes F_SETOWN. If @number was a thread's tid, kernels with perfmon2 signalled exactly that
 * thread. */
static int fcntl_set_owner_number(const struct ctx_fd *t, void *number, const struct ctx_cache *c)
{
	struct f_owner_ex thread = {F_OWNER_TID, (pid_t)(intptr_t)number};

	return fcntl_is_own_thread(thread.pid) ? fcntl_set_owner(t, F_SETOWN_EX, &thread, c)
					       : fcntl_set_owner(t, F_SETOWN, number, c);
}

static bool fcntl_is_about_signals(int cmd)
{
	return cmd == F_SETFL || cmd == F_GETFL || cmd == F_SETOWN || cmd == F_SETOWN_EX ||
	       cmd == F_SETSIG;
}

static int fcntl_of_context(const struct ctx_fd *t, int cmd, void *arg)
{
	struct ctx_cache c;

	ctx_cache_get(t, &c);
	switch (cmd) {
	case F_SETFL:
		return fcntl_set_flags(t, (int)(intptr_t)arg, &c);
	case F_GETFL:
		return fcntl_get_flags(t, &c);
	case F_SETOWN:
		return fcntl_set_owner_number(t, arg, &c);
	default:
		return fcntl_set_owner(t, cmd, arg, &c);
	}
}

static int fcntl_call(int fd, int cmd, void *arg)
{
	struct ctx_fd t;
	int err = errno;

	if (!fcntl_is_about_signals(cmd) || ctx_fd_get(&t, fd) < 0) {
		errno = err;
		return __fcntl(fd, cmd, arg);
	}
	return debug_result("fcntl", fd, fcntl_of_context(&t, cmd, arg));
}

/* The exported fcntl(). The argument, if any, is an int or a pointer; both are passed like a
 * pointer. */
API int fcntl_api(int fd, int cmd, ...)
{
	va_list ap;

	va_start(ap, cmd);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	return fcntl_call(fd, cmd, arg);
}

API int fcntl64_api(int fd, int cmd, ...)
{
	va_list ap;

	va_start(ap, cmd);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	return fcntl_call(fd, cmd, arg);
}
