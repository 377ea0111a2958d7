// SPDX-License-Identifier: MIT
/*
 * What the kernel reports of tracees: stops, births, execs, ends.
 *
 * Stops are looked at without being taken (WNOWAIT): if we are killed between looking at one and
 * letting the thread continue, the kernel delivers the signal that it has stopped for; from one
 * that has been taken, it would be lost. So signals are passed on at once, and threads are held,
 * and let go of, in stops that are not for a signal. Only those are taken, for they would be seen
 * again and again.
 */
#include "daemon/track/tracer_i.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* Of this thread's: other children of the process are those of other threads. */
enum { OURS = WNOHANG | __WALL | __WNOTHREAD };

bool tracer_traces(pid_t tid)
{
	siginfo_t si;

	return waitid(P_PID, (id_t)tid, &si, OURS | WEXITED | WSTOPPED | WNOWAIT) == 0;
}

/* @what it is, for it may have been killed since. Of a tracee, stops are reported at any rate. */
static void take(pid_t tid, int what)
{
	siginfo_t si;

	waitid(P_PID, (id_t)tid, &si, OURS | what);
}

/* What is wanted of it; and if it is to be told now that it is held, it will have been. */
static unsigned wants_of(struct tracer *tr, struct tracee *t)
{
	unsigned wants;

	pthread_mutex_lock(&tr->lock);
	wants = t->wants;
	if (t->stopped && (wants & WANT_HOLD))
		t->wants |= WANT_TOLD;
	pthread_mutex_unlock(&tr->lock);
	return wants;
}

/* The next stop will do, whatever it is for. If the number is not its own any more, that will show:
 * it is executing a program, or has vanished. */
static void interrupt(struct tracer *tr, struct tracee *t)
{
	if (t->interrupted)
		return;
	t->interrupted = true;
	ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	tracer_suspect(tr);
}

/* In a group-stop, it stays where it is, and will be woken by SIGCONT. */
static void restart(struct tracee *t)
{
	t->stopped = false;
	ptrace(t->group ? PTRACE_LISTEN : PTRACE_CONT, t->tid, 0, 0);
}

void tracer_let_go(struct tracer *tr, struct tracee *t)
{
	t->stopped = false;
	/* If it has been killed, its end will be reported. */
	if (ptrace(PTRACE_DETACH, t->tid, 0, 0) == 0)
		tracer_forget(tr, t);
}

void tracer_settle(struct tracer *tr, struct tracee *t)
{
	unsigned wants = wants_of(tr, t);

	if (!t->stopped) {
		if (wants & (WANT_HOLD | WANT_RELEASE))
			interrupt(tr, t);
	} else if (wants & WANT_RELEASE) {
		tracer_let_go(tr, t);
	} else if (wants & WANT_HOLD) {
		if (!(wants & WANT_TOLD))
			tr->ops->held(tr->arg, t->tid);
	} else if (!(wants & WANT_STAND)) {
		restart(t);
	}
}

/* One that has come by itself: it must not run before somebody knows of it. NULL: no memory. */
static struct tracee *foundling(struct tracer *tr, pid_t tid)
{
	struct tracee *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->tid = tid;
	t->wants = WANT_STAND;
	tracer_add(tr, t);
	tracer_suspect(tr);
	return t;
}

/* The child may have come before, and be waiting for this; or it has been killed. Else it comes
 * just now, mostly, and one signal tells of both. */
static void birth(struct tracer *tr, const struct tracee *parent)
{
	unsigned long tid = 0;
	struct tracee *t;

	if (ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid) < 0)
		return;
	t = tracees_find(&tr->all, (pid_t)tid);
	if (!t && tracer_traces((pid_t)tid))
		t = foundling(tr, (pid_t)tid);
	if (!t || t->known)
		return;
	t->known = true;
	tr->ops->born(tr->arg, parent->tid, t->tid);
	if (!t->stopped)
		tracer_look(tr, t->tid);
}

/*
 * By exec, a thread gets the number of the first one of its process, which has gone then; the other
 * threads have been reported. It may have been seized under the new number before this is. NULL: it
 * was killed, which will be reported, or we do not know it.
 */
static struct tracee *executed(struct tracer *tr, pid_t now, pid_t *was)
{
	struct tracee *first = tracees_find(&tr->all, now), *t;
	unsigned long msg = 0;

	if (ptrace(PTRACE_GETEVENTMSG, now, 0, &msg) < 0)
		return NULL;
	t = tracees_find(&tr->all, (pid_t)msg);
	if (!t || t == first)
		return first;
	*was = t->tid;
	if (first)
		tracer_forget(tr, first);
	tracer_rename(tr, t, now);
	return t;
}

static void tell_exec(struct tracer *tr, struct tracee *t, pid_t was)
{
	pthread_mutex_lock(&tr->lock);
	t->wants |= WANT_STAND;
	pthread_mutex_unlock(&tr->lock);
	tr->ops->exec(tr->arg, was, t->tid);
}

static void on_event(struct tracer *tr, pid_t tid, int event, int sig)
{
	struct tracee *t;
	pid_t was = tid;

	/* First: by exec, its number may have changed, and the kernel wants to be sure that we
	 * know. */
	take(tid, WSTOPPED);
	t = event == PTRACE_EVENT_EXEC ? executed(tr, tid, &was) : tracees_find(&tr->all, tid);
	if (!t && event == PTRACE_EVENT_STOP)
		t = foundling(tr, tid);
	if (!t) {
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return;
	}
	t->stopped = true;
	t->interrupted = false;
	t->group = event == PTRACE_EVENT_STOP && sig != SIGTRAP;
	if (t->known && event == PTRACE_EVENT_EXEC)
		tell_exec(tr, t, was);
	else if (t->known && event != PTRACE_EVENT_STOP)
		birth(tr, t);
	tracer_settle(tr, t);
}

/* If it is to stop, it does so next, before it gets to user mode: this was a stop as well, and has
 * ended the request for one. */
static void on_signal(struct tracer *tr, pid_t tid, int sig)
{
	struct tracee *t = tracees_find(&tr->all, tid);

	if (t) {
		t->interrupted = false;
		tracer_settle(tr, t);
	}
	ptrace(PTRACE_CONT, tid, 0, sig);
}

static void on_end(struct tracer *tr, pid_t tid)
{
	struct tracee *t = tracees_find(&tr->all, tid);

	take(tid, WEXITED);
	if (t)
		tracer_forget(tr, t);
	tracer_suspect(tr);
}

bool tracer_look(struct tracer *tr, pid_t tid)
{
	siginfo_t si = {0};

	if (waitid(tid ? P_PID : P_ALL, (id_t)tid, &si, OURS | WEXITED | WSTOPPED | WNOWAIT) < 0 ||
		!si.si_pid)
		return false;
	if (si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED)
		on_end(tr, si.si_pid);
	else if (si.si_status >> 8)
		on_event(tr, si.si_pid, si.si_status >> 8, si.si_status & 0xff);
	else
		on_signal(tr, si.si_pid, si.si_status);
	return true;
}
