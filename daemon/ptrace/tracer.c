// SPDX-License-Identifier: MIT
/* The tracer's thread: what wakes it, the orders it is given, its table. */
#include "daemon/track/tracer.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "daemon/cpu/thread.h"
#include "daemon/track/tracer_i.h"

enum { REPORTS_MAX = 64 }; /* before orders have their turn */

void tracer_add(struct tracer *tr, struct tracee *t)
{
	pthread_mutex_lock(&tr->lock);
	tracees_add(&tr->all, t);
	pthread_mutex_unlock(&tr->lock);
}

void tracer_rename(struct tracer *tr, struct tracee *t, pid_t tid)
{
	pthread_mutex_lock(&tr->lock);
	tracees_remove(&tr->all, t);
	t->tid = tid;
	tracees_add(&tr->all, t);
	pthread_mutex_unlock(&tr->lock);
}

static void forget_wants(struct tracer *tr, struct tracee *t)
{
	struct tracee **at = &tr->due;

	while (*at != t)
		at = &(*at)->next_due;
	*at = t->next_due;
}

void tracer_forget(struct tracer *tr, struct tracee *t)
{
	pthread_mutex_lock(&tr->lock);
	tracees_remove(&tr->all, t);
	if (t->due)
		forget_wants(tr, t);
	pthread_mutex_unlock(&tr->lock);
	if (t->known)
		tr->ops->ended(tr->arg, t->tid);
	free(t);
}

/* Orders */

void tracer_want(struct tracer *tr, struct tracee *t, unsigned set, unsigned clear)
{
	t->wants = (t->wants & ~clear) | set;
	if (t->due)
		return;
	t->due = true;
	t->next_due = tr->due;
	tr->due = t;
}

static void order(struct tracer *tr, pid_t tid, unsigned set, unsigned clear)
{
	struct tracee *t;

	pthread_mutex_lock(&tr->lock);
	t = tracees_find(&tr->all, tid);
	if (t)
		tracer_want(tr, t, set, clear);
	pthread_mutex_unlock(&tr->lock);
	if (t)
		eventfd_write(tr->bell, 1);
}

void tracer_go(struct tracer *tr, pid_t tid)
{
	order(tr, tid, 0, WANT_STAND);
}

void tracer_hold(struct tracer *tr, pid_t tid)
{
	order(tr, tid, WANT_HOLD, 0);
}

void tracer_resume(struct tracer *tr, pid_t tid)
{
	order(tr, tid, 0, WANT_HOLD | WANT_TOLD);
}

void tracer_release(struct tracer *tr, pid_t tid)
{
	order(tr, tid, WANT_RELEASE, 0);
}

static struct tracee *next_due(struct tracer *tr, bool *buried)
{
	struct tracee *t;

	pthread_mutex_lock(&tr->lock);
	t = tr->due;
	if (t) {
		tr->due = t->next_due;
		t->due = false;
		*buried = t->wants & WANT_BURIED;
	}
	pthread_mutex_unlock(&tr->lock);
	return t;
}

static void obey(struct tracer *tr)
{
	struct tracee *t;
	bool buried;

	while ((t = next_due(tr, &buried))) {
		if (buried)
			tracer_forget(tr, t);
		else
			tracer_settle(tr, t);
	}
}

/* The thread */

uint64_t tracer_now(void)
{
	return nsec_now(CLOCK_MONOTONIC);
}

static void sleep_until_news(struct tracer *tr)
{
	struct pollfd fds[2] = {{tr->sigchld, POLLIN, 0}, {tr->bell, POLLIN, 0}};
	uint64_t now = tracer_now(), until = tr->scan ? tr->scan_at : UINT64_MAX, ns = 0;
	struct timespec timeout;
	eventfd_t rings;

	if (tr->audit_at && tr->audit_at < until)
		until = tr->audit_at;
	if (until > now)
		ns = until - now;
	timeout = nsec_timespec(ns);
	ppoll(fds, 2, until == UINT64_MAX ? NULL : &timeout, NULL);
	eventfd_read(tr->bell, &rings);
}

/* A signal tells of one report, and of no other that comes before it has been read. */
static void hear(struct tracer *tr)
{
	struct signalfd_siginfo si;

	for (int n = 0; n < REPORTS_MAX && read(tr->sigchld, &si, sizeof(si)) == sizeof(si); n++) {
		bool ended = si.ssi_code == CLD_EXITED || si.ssi_code == CLD_KILLED ||
			     si.ssi_code == CLD_DUMPED;

		tr->scan = true;
		if (!tracer_look(tr, (pid_t)si.ssi_pid) && ended)
			tracer_check_end(tr, (pid_t)si.ssi_pid);
	}
}

/* The others are found by having the kernel look at all tracees: for half of the time at most, as
 * there may be thousands. */
static void scan(struct tracer *tr)
{
	uint64_t begin = tracer_now(), end;
	int n = 0;

	if (!tr->scan || begin < tr->scan_at)
		return;
	while (n < REPORTS_MAX && tracer_look(tr, 0))
		n++;
	end = tracer_now();
	tr->scan = n == REPORTS_MAX;
	tr->scan_at = end + (end - begin);
}

/* Before ordinary threads, where that is permitted: tracees wait for us. */
static void hurry(void)
{
	struct sched_param param = {.sched_priority = 1};

	pthread_setname_np(pthread_self(), "pfm/tracer");
	pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

static void *tracer_main(void *arg)
{
	struct tracer *tr = arg;

	tr->tid = gettid();
	hurry();
	while (!atomic_load(&tr->quit)) {
		sleep_until_news(tr);
		hear(tr);
		obey(tr);
		tracer_answer_seizures(tr);
		scan(tr);
		tracer_audit(tr);
	}
	return NULL;
}

/* An ignored SIGCHLD, which the daemon may have inherited, would not be sent for stops. */
static int own_sigchld(struct tracer *tr, struct err *e)
{
	struct sigaction sa = {.sa_handler = SIG_DFL};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGCHLD, &sa, NULL);
	tr->sigchld = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (tr->sigchld < 0)
		return err_set(e, errno, "signalfd: %s", err_name(errno));
	tr->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (tr->bell < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	return 0;
}

/* Its holder must not wait behind ordinary threads while the tracer's waits for it. */
static void make_lock(struct tracer *tr)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&tr->lock, &mutex);
	pthread_mutexattr_destroy(&mutex);
	pthread_condattr_init(&cond);
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	pthread_cond_init(&tr->seized, &cond);
	pthread_condattr_destroy(&cond);
}

static void cleanup_tracer(struct tracer **at)
{
	struct tracer *tr = *at;

	if (!tr)
		return;
	tracees_free(&tr->all);
	pthread_cond_destroy(&tr->seized);
	pthread_mutex_destroy(&tr->lock);
	cleanup_close(&tr->sigchld);
	cleanup_close(&tr->bell);
	free(tr);
}

int tracer_new(const struct tracer_ops *ops, void *arg, struct tracer **out, struct err *e)
{
	__attribute__((cleanup(cleanup_tracer))) struct tracer *tr = calloc(1, sizeof(*tr));
	int rc;

	if (!tr)
		return err_set(e, ENOMEM, "no memory to follow threads");
	tr->ops = ops;
	tr->arg = arg;
	tr->sigchld = tr->bell = -1;
	make_lock(tr);
	if (tracees_init(&tr->all) < 0)
		return err_set(e, ENOMEM, "no memory to follow threads");
	rc = own_sigchld(tr, e);
	if (rc == 0)
		rc = tracer_can_give_up(e);
	if (rc < 0)
		return rc;
	rc = thread_start(&tr->thread, tracer_main, tr);
	if (rc)
		return err_set(e, rc, "pthread_create: %s: the tracer", err_name(rc));
	*out = take_ptr(&tr);
	return 0;
}

/*
 * The end of its thread lets go of all tracees at once, even of those that cannot be stopped. The
 * kernel has done so when the thread's number has gone, a little after it can be joined.
 */
void tracer_free(struct tracer *tr)
{
	if (!tr)
		return;
	atomic_store(&tr->quit, true);
	eventfd_write(tr->bell, 1);
	pthread_join(tr->thread, NULL);
	while (tgkill(getpid(), tr->tid, 0) == 0)
		usleep(100);
	cleanup_tracer(&tr);
}
