// SPDX-License-Identifier: MIT
/* Seizing a thread: asked for by any, done by the tracer's. */
#include "daemon/track/tracer_i.h"

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
#include "daemon/track/proc.h"

enum {
	STUCK_MS = 5,     /* when waiting for the tracer's thread is not enough: see bury() */
	GIVE_UP_MS = 100, /* as others wait as well */
	HURRY_MS = 2000,  /* after that, how long to give up sooner: it may be meant so */
};

#define GIVE_UP SIGUSR1

struct seizure {
	struct link link;
	pid_t tid;
	bool follow;
	bool done; /* under the lock */
	int rc;
	struct err *err;
};

/* All zero if there is no such thread. */
static struct proc_status status_of(pid_t tid)
{
	struct proc_status s = {0};
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(tid, &ignored);

	if (dir >= 0)
		proc_status(dir, &s, &ignored);
	return s;
}

static int traced_by(pid_t tid, pid_t by, struct err *e)
{
	return err_set(e, EBUSY,
		"thread %d is traced by %d (%s) already: end that first, or load with ptrace=no",
		tid, by, status_of(by).name);
}

static int refused(const struct tracer *tr, pid_t tid, int no, struct err *e)
{
	pid_t by = status_of(tid).tracer;

	if (no == EAGAIN)
		return err_set(e, no,
			"thread %d is executing a program, which takes long: load it when it has",
			tid);
	if (no == ESRCH || tracer_is_zombie(tid) || (kill(tid, 0) < 0 && errno == ESRCH))
		return err_set(e, ESRCH, "there is no thread %d, or it has ended", tid);
	if (by == tr->tid)
		return err_set(e, EBUSY, "thread %d is followed already", tid);
	if (by)
		return traced_by(tid, by, e);
	return err_set(e, no,
		"PTRACE_SEIZE: %s: thread %d cannot be traced: this needs CAP_SYS_PTRACE, and "
		"kernel.yama.ptrace_scope below 3",
		err_name(no), tid);
}

/* The way out of it, and whether this thread is on its way in. */
static sigjmp_buf out;
static _Thread_local volatile sig_atomic_t inside;

static void give_up(int sig)
{
	(void)sig;
	if (inside)
		siglongjmp(out, 1);
}

int tracer_can_give_up(struct err *e)
{
	const struct sigaction sa = {.sa_handler = give_up};

	return sigaction(GIVE_UP, &sa, NULL) == 0 ? 0 : err_set(e, errno, "sigaction");
}

/*
 * Waits while the thread's process executes a program, and that may be for ever: its files may be
 * those of somebody who does not answer. The system call itself would wait again after a signal.
 */
static int seize_or_give_up(pid_t tid, long options)
{
	static const struct timespec now;
	volatile int rc = -EINPROGRESS;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, GIVE_UP);
	while (sigtimedwait(&set, NULL, &now) == GIVE_UP)
		; /* that came too late for another */
	if (sigsetjmp(out, true)) {
		inside = false;
		/* The signal may have come just after that. */
		if (rc != -EINPROGRESS)
			return rc;
		return tracer_traces(tid) ? 0 : -EAGAIN;
	}
	inside = true;
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	rc = ptrace(PTRACE_SEIZE, tid, 0, options) == 0 ? 0 : -errno;
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	inside = false;
	return rc;
}

/* A first thread that has ended is refused; by the next time, its number may be that of a thread of
 * its process that executes a program. */
static int ptrace_seize(pid_t tid, long options)
{
	int rc = seize_or_give_up(tid, options);

	if (rc != -EPERM || status_of(tid).tracer || tracer_is_zombie(tid))
		return rc;
	return seize_or_give_up(tid, options);
}

/* If there is one already, it has vanished: the kernel would have refused to seize it again. */
static struct tracee *add(struct tracer *tr, struct tracee *t, pid_t tid)
{
	struct tracee *old = tracees_find(&tr->all, tid);

	if (old)
		tracer_forget(tr, old);
	t->tid = tid;
	tracer_add(tr, t);
	return t;
}

static int seize(struct tracer *tr, const struct seizure *s)
{
	CLEANUP_FREE struct tracee *t = calloc(1, sizeof(*t));
	pid_t first = status_of(s->tid).tgid;
	long options = PTRACE_O_TRACEEXEC;
	int rc;

	if (!t)
		return err_set(s->err, ENOMEM, "no memory to follow thread %d", s->tid);
	if (s->follow)
		options |= PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	rc = ptrace_seize(s->tid, options);
	if (rc < 0)
		return refused(tr, s->tid, -rc, s->err);
	if (tracer_traces(s->tid) || !tracer_traces(first)) {
		t->known = true;
		add(tr, take_ptr(&t), s->tid);
		return 0;
	}
	/* While we waited for its exec, it has got another number. */
	t->wants = WANT_RELEASE;
	tracer_settle(tr, add(tr, take_ptr(&t), first));
	return err_set(s->err, ESRCH,
		"thread %d has executed a program and has the number %d now: load on that", s->tid,
		first);
}

void tracer_answer_seizures(struct tracer *tr)
{
	for (struct link *next, *l = queue_take(&tr->seizures); l; l = next) {
		struct seizure *s = link_entry(l, struct seizure, link);
		int rc;

		next = l->next;
		rc = seize(tr, s);
		pthread_mutex_lock(&tr->lock);
		s->rc = rc;
		s->done = true;
		pthread_cond_broadcast(&tr->seized);
		pthread_mutex_unlock(&tr->lock);
	}
}

/* Looks first: stops of tracees are reported whether one asks for them or not. */
static bool collect_end(pid_t tid)
{
	siginfo_t si = {0};

	if (waitid(P_PID, (id_t)tid, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 || !si.si_pid ||
		si.si_code == CLD_TRAPPED || si.si_code == CLD_STOPPED)
		return false;
	return waitid(P_PID, (id_t)tid, &si, WEXITED | WNOHANG | __WALL) == 0;
}

/*
 * PTRACE_SEIZE waits while the thread's process executes a program. That waits for its other
 * threads to be gone; and if they are tracees, for the tracer to collect their ends: which any
 * thread of its process may, and the one that waits for it does. Called with the lock held.
 */
static void bury(struct tracer *tr)
{
	for (size_t i = 0; i < tr->all.nbuckets; i++)
		for (struct tracee *t = tr->all.bucket[i]; t; t = t->next)
			if (collect_end(t->tid))
				tracer_want(tr, t, WANT_BURIED, 0);
}

/* The lock is held, but while it waits. */
static void await(struct tracer *tr, const struct seizure *s)
{
	uint64_t now = tracer_now(), ms = now < tr->hurry_until ? STUCK_MS : GIVE_UP_MS;
	uint64_t patience = now + ms * 1000000;

	while (!s->done) {
		struct timespec until = nsec_timespec(tracer_now() + STUCK_MS * 1000000ULL);

		if (pthread_cond_timedwait(&tr->seized, &tr->lock, &until) != ETIMEDOUT)
			continue;
		bury(tr);
		if (tracer_now() > patience)
			pthread_kill(tr->thread, GIVE_UP);
	}
}

int tracer_seize(struct tracer *tr, pid_t tid, bool follow, struct err *e)
{
	struct seizure s = {.tid = tid, .follow = follow, .err = e};

	queue_put(&tr->seizures, &s.link);
	eventfd_write(tr->bell, 1);
	pthread_mutex_lock(&tr->lock);
	await(tr, &s);
	pthread_mutex_unlock(&tr->lock);
	if (s.rc == -EAGAIN)
		tr->hurry_until = tracer_now() + HURRY_MS * 1000000ULL;
	return s.rc;
}
