// SPDX-License-Identifier: MIT
/* Attaching to a thread: requested by any thread, done by the tracer's. */
#include "daemon/ptrace/tracer_i.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "daemon/authz/proc.h"

enum {
	SEIZE_REAP_MS = 5,         /* wait before seize_reap_exited() */
	SEIZE_CANCEL_MS = 100,     /* wait before the request is cancelled, as others wait, too */
	SEIZE_IMPATIENT_MS = 2000, /* after a cancellation: cancel others after SEIZE_REAP_MS */
};

#define SEIZE_CANCEL_SIGNAL SIGUSR1

struct attach_req {
	struct link link;
	pid_t tid;
	bool follow;
	bool done; /* with the tracer's lock */
	int rc;
	struct err *err;
};

/* All zero if there is no such thread. */
static struct proc_status seize_status(pid_t tid)
{
	struct proc_status s = {0};
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(tid, &ignored);

	if (dir >= 0)
		proc_status(dir, &s, &ignored);
	return s;
}

static int seize_refused_traced(pid_t tid, pid_t by, struct err *e)
{
	return err_set(e, EBUSY,
		"thread %d is traced by %d (%s) already: end that first, or load with ptrace=no",
		tid, by, seize_status(by).name);
}

static int seize_refused(const struct tracer *tr, pid_t tid, int no, struct err *e)
{
	pid_t by = seize_status(tid).tracer;

	if (no == EAGAIN)
		return err_set(e, no,
			"thread %d is still executing a program: load it when that is done", tid);
	if (no == ESRCH || proc_is_zombie(tid) || (kill(tid, 0) < 0 && errno == ESRCH))
		return err_set(e, ESRCH, "there is no thread %d, or it has ended", tid);
	if (by == tr->tid)
		return err_set(e, EBUSY, "thread %d is followed already", tid);
	if (by)
		return seize_refused_traced(tid, by, e);
	return err_set(e, no,
		"PTRACE_SEIZE: %s: thread %d cannot be traced: this needs CAP_SYS_PTRACE, and "
		"kernel.yama.ptrace_scope below 3",
		err_name(no), tid);
}

/* Where the signal handler jumps to, while the calling thread may be cancelled. */
static sigjmp_buf seize_cancelled;
static _Thread_local volatile sig_atomic_t seize_cancellable;

static void seize_cancel(int sig)
{
	(void)sig;
	if (seize_cancellable)
		siglongjmp(seize_cancelled, 1);
}

int tracer_init_cancel(struct err *e)
{
	const struct sigaction sa = {.sa_handler = seize_cancel};

	return sigaction(SEIZE_CANCEL_SIGNAL, &sa, NULL) == 0 ? 0 : err_set(e, errno, "sigaction");
}

/*
 * PTRACE_SEIZE waits while the thread's process executes a program. That may take for ever, if its
 * files are on a filesystem that does not answer; and a signal that returns restarts the system
 * call. So the handler jumps. -EAGAIN: cancelled.
 */
static int seize_try(pid_t tid, long options)
{
	static const struct timespec now;
	volatile int rc = -EINPROGRESS;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SEIZE_CANCEL_SIGNAL);
	/* Drops signals that came too late for an earlier request. */
	while (sigtimedwait(&set, NULL, &now) == SEIZE_CANCEL_SIGNAL)
		;
	if (sigsetjmp(seize_cancelled, true)) {
		seize_cancellable = false;
		/* The signal may have come just after the system call. */
		if (rc != -EINPROGRESS)
			return rc;
		return tracer_traces(tid) ? 0 : -EAGAIN;
	}
	seize_cancellable = true;
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	rc = ptrace(PTRACE_SEIZE, tid, 0, options) == 0 ? 0 : -errno;
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	seize_cancellable = false;
	return rc;
}

/* A thread group leader that has exited is refused with EPERM. Once more: its id may have passed to
 * a thread of its process that executed a program meanwhile. */
static int seize_retry(pid_t tid, long options)
{
	int rc = seize_try(tid, options);

	if (rc != -EPERM || seize_status(tid).tracer || proc_is_zombie(tid))
		return rc;
	return seize_try(tid, options);
}

/* A tracee of the same id has vanished: the kernel would have refused to attach to it again. */
static struct tracee *seize_add(struct tracer *tr, struct tracee *t, pid_t tid)
{
	struct tracee *old = tracer_find(tr, tid);

	if (old)
		tracer_forget(tr, old);
	t->tid = tid;
	tracer_add(tr, t);
	return t;
}

static int seize_attach(struct tracer *tr, const struct attach_req *req)
{
	CLEANUP_FREE struct tracee *t = tracee_new(req->tid);
	pid_t leader = seize_status(req->tid).tgid;
	long options = PTRACE_O_TRACEEXEC;
	int rc;

	if (!t)
		return err_set(req->err, ENOMEM, "no memory to follow thread %d", req->tid);
	if (req->follow)
		options |= PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	rc = seize_retry(req->tid, options);
	if (rc < 0)
		return seize_refused(tr, req->tid, -rc, req->err);
	if (tracer_traces(req->tid) || !tracer_traces(leader)) {
		t->known = true;
		seize_add(tr, take_ptr(&t), req->tid);
		return 0;
	}
	/* It executed a program during the system call, and has its leader's id now. */
	t->wants = WANT_DETACH;
	tracer_apply(tr, seize_add(tr, take_ptr(&t), leader));
	return err_set(req->err, ESRCH,
		"thread %d has executed a program and has the number %d now: load on that",
		req->tid, leader);
}

void tracer_answer_attaches(struct tracer *tr)
{
	for (struct link *next, *l = queue_take(&tr->attach_reqs); l; l = next) {
		struct attach_req *req = container_of(l, struct attach_req, link);
		int rc;

		next = l->next;
		rc = seize_attach(tr, req);
		pthread_mutex_lock(&tr->lock);
		req->rc = rc;
		req->done = true;
		pthread_cond_broadcast(&tr->attached);
		pthread_mutex_unlock(&tr->lock);
	}
}

/* Checks first, by WNOWAIT, as waitid() reports stops of tracees even if not asked for. */
static bool seize_reap(pid_t tid)
{
	siginfo_t si = {0};

	if (waitid(P_PID, (id_t)tid, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 || !si.si_pid ||
		si.si_code == CLD_TRAPPED || si.si_code == CLD_STOPPED)
		return false;
	return waitid(P_PID, (id_t)tid, &si, WEXITED | WNOHANG | __WALL) == 0;
}

/*
 * Breaks a deadlock: PTRACE_SEIZE waits while the thread's process executes a program, the exec
 * waits for the other threads of the process to end, and those that are tracees wait to be reaped
 * by their tracer. Any thread of the tracer's process may do that. With the lock held.
 */
static void seize_reap_exited(struct tracer *tr)
{
	for (size_t i = 0; i < tr->tracees.nbuckets; i++)
		for (struct hash_node *node = tr->tracees.bucket[i]; node; node = node->next) {
			struct tracee *t = container_of(node, struct tracee, node);

			if (seize_reap(t->tid))
				tracer_want(tr, t, WANT_REAPED, 0);
		}
}

/* With the lock held, except while it waits. */
static void seize_wait(struct tracer *tr, const struct attach_req *req)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);
	uint64_t ms = now < tr->impatient_until ? SEIZE_REAP_MS : SEIZE_CANCEL_MS;
	uint64_t cancel_at = now + ms * 1000000;

	while (!req->done) {
		struct timespec until =
			nsec_timespec(nsec_now(CLOCK_MONOTONIC) + SEIZE_REAP_MS * 1000000ULL);

		if (pthread_cond_timedwait(&tr->attached, &tr->lock, &until) != ETIMEDOUT)
			continue;
		seize_reap_exited(tr);
		if (nsec_now(CLOCK_MONOTONIC) > cancel_at)
			pthread_kill(tr->thread, SEIZE_CANCEL_SIGNAL);
	}
}

int tracer_seize(struct tracer *tr, pid_t tid, bool follow, struct err *e)
{
	struct attach_req req = {.tid = tid, .follow = follow, .err = e};

	queue_put(&tr->attach_reqs, &req.link);
	eventfd_write(tr->wakeup_fd, 1);
	pthread_mutex_lock(&tr->lock);
	seize_wait(tr, &req);
	pthread_mutex_unlock(&tr->lock);
	if (req.rc == -EAGAIN)
		tr->impatient_until = nsec_now(CLOCK_MONOTONIC) + SEIZE_IMPATIENT_MS * 1000000ULL;
	return req.rc;
}
