// SPDX-License-Identifier: MIT
/*
 * Handles what the kernel reports about tracees: stops, clones, execs, ends.
 *
 * Stops are read without being consumed (WNOWAIT). If the daemon is killed between reading a
 * signal-delivery-stop and continuing the thread, the kernel delivers the signal; had the stop been
 * consumed, the signal would be lost. So signals are passed on at once, and threads are kept
 * stopped, and detached, only in other stops. Those are consumed, or they would be reported again.
 */
#include "daemon/ptrace/tracer_i.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* Tracees of this thread only: other children of the process belong to other threads. */
enum { STOPS_WAIT = WNOHANG | __WALL | __WNOTHREAD };

bool tracer_traces(pid_t tid)
{
	siginfo_t si;

	return waitid(P_PID, (id_t)tid, &si, STOPS_WAIT | WEXITED | WSTOPPED | WNOWAIT) == 0;
}

/* @what: WSTOPPED or WEXITED, whichever was read, as the thread may have been killed since. The
 * kernel reports stops of tracees either way. */
static void stops_consume(pid_t tid, int what)
{
	siginfo_t si;

	waitid(P_PID, (id_t)tid, &si, STOPS_WAIT | what);
}

/* Interrupts @t; any next stop will do. If its id is not its own any more, as it executes a program
 * or has vanished, the liveness check finds out. */
static void stops_interrupt(struct tracer *tr, struct tracee *t)
{
	if (t->interrupted)
		return;
	t->interrupted = true;
	ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	tracer_suspect_exit(tr);
}

/* A group-stop continues until SIGCONT. */
static void stops_restart(struct tracee *t)
{
	t->stopped = false;
	ptrace(t->group ? PTRACE_LISTEN : PTRACE_CONT, t->tid, 0, 0);
}

void tracer_detach_now(struct tracer *tr, struct tracee *t)
{
	t->stopped = false;
	/* If it was killed, its end will be reported. */
	if (ptrace(PTRACE_DETACH, t->tid, 0, 0) == 0)
		tracer_forget(tr, t);
}

void tracer_apply(struct tracer *tr, struct tracee *t)
{
	unsigned wants = tracer_wants(tr, t);

	if (!t->stopped) {
		if (wants & (WANT_STOP | WANT_DETACH))
			stops_interrupt(tr, t);
	} else if (wants & WANT_DETACH) {
		tracer_detach_now(tr, t);
	} else if (!(wants & (WANT_STOP | WANT_INITIAL_STOP))) {
		stops_restart(t);
	}
}

/* Adds an auto-attached child, which stays stopped until ops know of it. NULL: no memory. */
static struct tracee *stops_add_child(struct tracer *tr, pid_t tid)
{
	struct tracee *t = tracee_new(tid);

	if (!t)
		return NULL;
	t->wants = WANT_INITIAL_STOP;
	tracer_add(tr, t);
	tracer_suspect_exit(tr);
	return t;
}

/* The child's first stop may have been reported before, or the child was killed. Otherwise, the
 * stop usually follows at once, and one signal announces both. */
static void stops_handle_clone(struct tracer *tr, const struct tracee *parent)
{
	unsigned long tid = 0;
	struct tracee *t;

	if (ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid) < 0)
		return;
	t = tracer_find(tr, (pid_t)tid);
	if (!t && tracer_traces((pid_t)tid))
		t = stops_add_child(tr, (pid_t)tid);
	if (!t || t->known)
		return;
	t->known = true;
	tr->ops->born(tr->arg, parent->tid, t->tid);
	if (!t->stopped)
		tracer_wait_event(tr, t->tid);
}

/*
 * The tracee that has executed a program. It takes the id of its thread group leader, which has
 * vanished; the ends of the other threads were reported. It may have been attached by its new id
 * before this event. NULL: it was killed, which will be reported, or is unknown.
 */
static struct tracee *stops_exec_tracee(struct tracer *tr, pid_t now, pid_t *was)
{
	struct tracee *leader = tracer_find(tr, now), *t;
	unsigned long msg = 0;

	if (ptrace(PTRACE_GETEVENTMSG, now, 0, &msg) < 0)
		return NULL;
	t = tracer_find(tr, (pid_t)msg);
	if (!t || t == leader)
		return leader;
	*was = t->tid;
	if (leader)
		tracer_forget(tr, leader);
	tracer_set_tid(tr, t, now);
	return t;
}

static void stops_report_exec(struct tracer *tr, struct tracee *t, pid_t was)
{
	pthread_mutex_lock(&tr->lock);
	t->wants |= WANT_INITIAL_STOP;
	pthread_mutex_unlock(&tr->lock);
	tr->ops->exec(tr->arg, was, t->tid);
}

static void stops_handle_event(struct tracer *tr, pid_t tid, int event, int sig)
{
	struct tracee *t;
	pid_t was = tid;

	/* First of all: after an exec, PTRACE_GETEVENTMSG requires that the stop was waited for. */
	stops_consume(tid, WSTOPPED);
	t = event == PTRACE_EVENT_EXEC ? stops_exec_tracee(tr, tid, &was) : tracer_find(tr, tid);
	if (!t && event == PTRACE_EVENT_STOP)
		t = stops_add_child(tr, tid);
	if (!t) {
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return;
	}
	t->stopped = true;
	t->interrupted = false;
	t->group = event == PTRACE_EVENT_STOP && sig != SIGTRAP;
	if (t->known && event == PTRACE_EVENT_EXEC)
		stops_report_exec(tr, t, was);
	else if (t->known && event != PTRACE_EVENT_STOP)
		stops_handle_clone(tr, t);
	tracer_apply(tr, t);
}

/* A signal-delivery-stop ends a pending PTRACE_INTERRUPT; a new one stops the thread before it gets
 * to user mode. */
static void stops_handle_signal(struct tracer *tr, pid_t tid, int sig)
{
	struct tracee *t = tracer_find(tr, tid);

	if (t) {
		t->interrupted = false;
		tracer_apply(tr, t);
	}
	ptrace(PTRACE_CONT, tid, 0, sig);
}

static void stops_handle_exit(struct tracer *tr, pid_t tid)
{
	struct tracee *t = tracer_find(tr, tid);

	stops_consume(tid, WEXITED);
	if (t)
		tracer_forget(tr, t);
	tracer_suspect_exit(tr);
}

bool tracer_wait_event(struct tracer *tr, pid_t tid)
{
	siginfo_t si = {0};

	if (waitid(tid ? P_PID : P_ALL, (id_t)tid, &si, STOPS_WAIT | WEXITED | WSTOPPED | WNOWAIT) <
			0 ||
		!si.si_pid)
		return false;
	if (si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED)
		stops_handle_exit(tr, si.si_pid);
	else if (si.si_status >> 8)
		stops_handle_event(tr, si.si_pid, si.si_status >> 8, si.si_status & 0xff);
	else
		stops_handle_signal(tr, si.si_pid, si.si_status);
	return true;
}
