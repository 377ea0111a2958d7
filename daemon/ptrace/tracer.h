/* SPDX-License-Identifier: MIT */
/*
 * Follows the lives of threads with ptrace(2), from a thread of its own, as for the kernel a tracer
 * is a thread. Tracees are attached by PTRACE_SEIZE and stop only while an event is handled;
 * signals, group-stops and job control work as without a tracer. If the daemon dies, the kernel
 * detaches all tracees, and they run on.
 *
 * A tracee may notice TracerPid in /proc, that no other tracer can attach, and system calls that
 * return EINTR when their thread is stopped (epoll_wait, semop, ...: signal(7), "Interruption of
 * system calls by stop signals"). A tracee is stopped by tracer_stop(), by tracer_detach() and by
 * each signal that it ignores. Without CAP_SYS_PTRACE in the tracer, set-user-ID programs that
 * tracees execute do not get their privileges.
 */
#ifndef PTRACE_TRACER_H
#define PTRACE_TRACER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/list.h"
#include "daemon/percpu/queue.h"

struct tracer;
struct tracer_attach;

/*
 * Callbacks, in the tracer's thread. They must not block, but may give orders (below). Until
 * ended(), they may still be called for a tracee that is being detached.
 */
struct tracer_ops {
	/* @parent, attached with follow, has created @child by clone, fork or vfork. The child is
	 * traced with follow as well, and stopped before its first instruction until tracer_cont().
	 * Not called if the child or its parent is killed first. */
	void (*born)(void *arg, pid_t parent, pid_t child);
	/* Thread @tid of the process that @req asks for is attached, now or since before. When this
	 * has been handled, req->unhandled must be decremented. False: there is no memory to report
	 * it. */
	bool (*joined)(void *arg, struct tracer_attach *req, pid_t tid);
	/* A tracee has executed a program. Its id was @was and is @now; orders for @was may have
	 * come too late. It is stopped until tracer_cont(). */
	void (*exec)(void *arg, pid_t was, pid_t now);
	/*
	 * The tracee has ended, or is not traced any more. The kernel does not report two ends,
	 * which may be noticed late: when a thread group leader exits before other threads, and
	 * when a thread vanishes in the exec of another one. tracer_detach() finds out.
	 */
	void (*ended)(void *arg, pid_t tid);
	/* tracer_detach() was called a while ago, and the tracee has not stopped yet. Called once.
	 */
	void (*detach_late)(void *arg, pid_t tid);
};

/* A request to attach to a thread. The caller keeps it until done(). */
struct tracer_attach {
	/* The thread, and its process. */
	pid_t tid, tgid;
	/* The user that makes the request. A user's requests are handled one after another. */
	uid_t uid;
	/* Attach to the processes and threads that it creates, too. */
	bool follow;
	/* Attach to all threads of its process, and to those that they create. @tid is the first
	 * thread, or another one if that has ended. joined() is called for the others before
	 * done(), even if done() reports an error. */
	bool process;
	/* The thread waits for this request, and so cannot stop to be detached: if that is under
	 * way, it stays attached instead, without ended(). */
	bool by_itself;
	/* Calls of joined() that are not handled yet. While there are many, no more threads are
	 * attached. */
	atomic_uint unhandled;
	/* Set by the caller when an error on its side makes the rest useless. */
	atomic_bool stop;
	/* Called in the tracer's thread; may free the request, and must not block. */
	void (*done)(struct tracer_attach *req);
	/* The outcome: 0, or -errno with err. */
	int rc;
	struct err err;
	/* Whether the thread is attached, regardless of the outcome for others of its process; and
	 * whether it has stayed attached. */
	bool attached, kept;

	/* Private to the tracer. */
	struct link link;
	struct list_head entry;
	/* Requests of the same user that wait for this one. */
	struct list_head behind;
	unsigned tries, passes;
	uint64_t try_at;
	/* The directory that the current pass is listing (-1: no pass is under way), and the
	 * outcome of the pass so far. */
	int list_fd, pass_rc;
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
 * Attaches to a thread without stopping it. EBUSY: it is already traced, by the process that the
 * error message names or by this tracer, also after tracer_detach() until ended(); ESRCH; EPERM:
 * the kernel refuses; EAGAIN: its process has been in an exec for more than 127 ms, or creates and
 * ends threads too fast; ENOMEM.
 */
void tracer_seize(struct tracer *tr, struct tracer_attach *req);
/* EAGAIN: an attempt to attach to process @tgid has just been given up. @tid is for the error
 * message. */
int tracer_check_given_up(struct tracer *tr, pid_t tgid, pid_t tid, struct err *e);

/* Orders are carried out a little later, for each tracee in the order of the calls. Threads that
 * are not traced are ignored. */

/* Continues a tracee after born() or exec(). */
void tracer_cont(struct tracer *tr, pid_t tid);
/* Stops a tracee until tracer_resume(): it executes nothing in user mode. SIGKILL still ends it. */
void tracer_stop(struct tracer *tr, pid_t tid);
void tracer_resume(struct tracer *tr, pid_t tid);
/* Detaches a tracee as soon as it can be stopped: not while it waits for its vfork child or, in an
 * exec, for other threads. ended() follows. */
void tracer_detach(struct tracer *tr, pid_t tid);

#endif
