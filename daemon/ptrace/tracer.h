/* SPDX-License-Identifier: MIT */
/*
 * The life of traced threads, by ptrace: a thread of its own, for the kernel knows a tracer by its
 * thread. Tracees are seized, never stopped but for as long as it takes to deal with an event;
 * signals, group-stops and job control are theirs as without us. If the daemon dies, the kernel
 * lets go of them all, and they run on.
 *
 * What they may notice is what any tracer shows them: TracerPid in /proc, no other tracer beside
 * us, and system calls that return EINTR when their thread is stopped (epoll_wait, semop, ...:
 * signal(7), "Interruption of system calls by stop signals"), which tracer_hold() and
 * tracer_release() do, and each signal that they ignore. Without CAP_SYS_PTRACE in the tracer,
 * set-user-ID programs that they execute would not get their rights.
 */
#ifndef TRACK_TRACER_H
#define TRACK_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct tracer;

/*
 * News of tracees, told in the tracer's thread: it must not be kept waiting, and cannot wait for
 * itself in tracer_seize(). Orders may be given there. Until ended(), any of it may still come of a
 * tracee that is to be released.
 */
struct tracer_ops {
	/* @parent, seized with follow, has made @child (a thread, or a process by fork or vfork),
	 * which is traced as well, follows likewise, and stands still before its first instruction
	 * until tracer_go(). Not told of one that is killed before, or whose parent is. */
	void (*born)(void *arg, pid_t parent, pid_t child);
	/* A tracee has executed another program; its number was @was, and orders to that one may
	 * have come too late. It stands still until tracer_go(). */
	void (*exec)(void *arg, pid_t was, pid_t now);
	/* It is stopped as tracer_hold() wanted. */
	void (*held)(void *arg, pid_t tid);
	/*
	 * It has ended, or is not traced any more. The first thread of a process that ends before
	 * others of it may be told of as late as they, and so may a thread that vanishes in the
	 * exec of another: the kernel does not report these. tracer_release() finds out.
	 */
	void (*ended)(void *arg, pid_t tid);
};

/*
 * One in a process at a time. It needs SIGCHLD at its default action, which it sets, and blocked in
 * every thread: it blocks it in the calling one, for others to inherit, and is therefore called
 * before they exist. Other children of the process are left to whoever waits for them.
 * -ENOMEM, -EAGAIN, -EMFILE.
 */
int tracer_new(const struct tracer_ops *ops, void *arg, struct tracer **out, struct err *e);
/* Lets go of all tracees, which is not told; each runs on as it would have without us. */
void tracer_free(struct tracer *tr);

/*
 * Seizes thread @tid, without stopping it; its children too if @follow. Waits for the tracer's
 * thread, microseconds, or for as long as the thread's process takes to execute a program; the
 * caller must not hold what callbacks wait for. EBUSY: somebody traces it already (the sentence
 * names who) or we do, be it until ended() after tracer_release(); ESRCH; EPERM: the kernel
 * refuses; ENOMEM.
 */
int tracer_seize(struct tracer *tr, pid_t tid, bool follow, struct err *e);

/* The rest is only ordered, and done a little later, for each tracee in the order of the calls.
 * Numbers that are not traced are ignored. */

/* Lets it run on after born() or exec(). */
void tracer_go(struct tracer *tr, pid_t tid);
/* Stops it, until tracer_resume(): it executes nothing in user mode meanwhile. SIGKILL still ends
 * it. */
void tracer_hold(struct tracer *tr, pid_t tid);
void tracer_resume(struct tracer *tr, pid_t tid);
/* Lets go of it, whatever it does just now: as soon as it can be stopped, which one that waits for
 * its vfork child cannot. ended() follows. */
void tracer_release(struct tracer *tr, pid_t tid);

#endif
