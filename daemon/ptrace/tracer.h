/* SPDX-License-Identifier: MIT */
/*
 * Following the lives of threads by ptrace(2), from a thread of its own, as the kernel knows a
 * tracer by its thread. Tracees are attached by PTRACE_SEIZE and stop only while an event is
 * handled; signals, group-stops and job control work as without a tracer. If the daemon dies, the
 * kernel detaches all tracees, and they run on.
 *
 * A tracee may notice TracerPid in /proc, that no other tracer can attach, and system calls that
 * return EINTR when their thread is stopped (epoll_wait, semop, ...: signal(7), "Interruption of
 * system calls by stop signals"). tracer_stop() and tracer_detach() stop it, and so does each
 * signal that it ignores. Without CAP_SYS_PTRACE in the tracer, set-user-ID programs that tracees
 * execute do not get their privileges.
 */
#ifndef PTRACE_TRACER_H
#define PTRACE_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct tracer;

/*
 * Callbacks, in the tracer's thread. They must not block or call tracer_seize(), but may give
 * orders (below). Until ended(), they may still be called for a tracee that is to be detached.
 */
struct tracer_ops {
	/* @parent, attached with follow, has created @child by clone, fork or vfork. The child is
	 * traced with follow as well, and stopped before its first instruction until tracer_cont().
	 * Not called if the child or its parent is killed first. */
	void (*born)(void *arg, pid_t parent, pid_t child);
	/* A tracee has executed a program. Its id was @was; orders for that id may have come too
	 * late. It is stopped until tracer_cont(). */
	void (*exec)(void *arg, pid_t was, pid_t now);
	/*
	 * The tracee has ended, or is not traced any more. Two ends are not reported by the kernel
	 * and may be noticed late: that of a thread group leader that exits before other threads,
	 * and that of a thread that vanishes in the exec of another. tracer_detach() finds out.
	 */
	void (*ended)(void *arg, pid_t tid);
};

/*
 * One per process. Sets SIGCHLD to its default action and blocks it in the calling thread; call
 * this before other threads exist, so that they inherit the mask. Other children of the process are
 * left to their waiters. -ENOMEM, -EAGAIN, -EMFILE.
 */
int tracer_new(const struct tracer_ops *ops, void *arg, struct tracer **out, struct err *e);
/* Detaches all tracees without calling ended(). */
void tracer_free(struct tracer *tr);

/*
 * Attaches to thread @tid without stopping it, and to its future children if @follow. Waits for the
 * tracer's thread for microseconds, or for as long as the target's process executes a program; the
 * caller must not hold what callbacks wait for. EBUSY: it is traced already, by the process that
 * the sentence names or by this tracer, be it until ended() after tracer_detach(); ESRCH; EPERM:
 * the kernel refuses; EAGAIN: an exec takes too long; ENOMEM.
 */
int tracer_seize(struct tracer *tr, pid_t tid, bool follow, struct err *e);

/* Orders are carried out a little later, for each tracee in the order of the calls. Threads that
 * are not traced are ignored. */

/* Continues it after born() or exec(). */
void tracer_cont(struct tracer *tr, pid_t tid);
/* Stops it until tracer_resume(): it executes nothing in user mode. SIGKILL still ends it. */
void tracer_stop(struct tracer *tr, pid_t tid);
void tracer_resume(struct tracer *tr, pid_t tid);
/* Detaches it as soon as it can be stopped, which a thread that waits for its vfork child cannot.
 * ended() follows. */
void tracer_detach(struct tracer *tr, pid_t tid);

#endif
