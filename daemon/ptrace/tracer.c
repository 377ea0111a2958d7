// SPDX-License-Identifier: MIT
/* The tracer's thread: its main loop, and the orders that it is given. */
#include "daemon/ptrace/tracer.h"

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
#include "daemon/percpu/thread.h"
#include "daemon/ptrace/tracer_i.h"

enum { TRACER_REPORTS_MAX = 64 }; /* handled before the next orders */

/* Orders */

static void tracer_order(struct tracer *tr, pid_t tid, unsigned set, unsigned clear)
{
	struct tracee *t;

	pthread_mutex_lock(&tr->lock);
	t = tracer_find(tr, tid);
	if (t)
		tracer_want(tr, t, set, clear);
	pthread_mutex_unlock(&tr->lock);
	if (t)
		eventfd_write(tr->wakeup_fd, 1);
}

void tracer_cont(struct tracer *tr, pid_t tid)
{
	tracer_order(tr, tid, 0, WANT_INITIAL_STOP);
}

void tracer_stop(struct tracer *tr, pid_t tid)
{
	tracer_order(tr, tid, WANT_STOP, 0);
}

void tracer_resume(struct tracer *tr, pid_t tid)
{
	tracer_order(tr, tid, 0, WANT_STOP);
}

void tracer_detach(struct tracer *tr, pid_t tid)
{
	tracer_order(tr, tid, WANT_DETACH, 0);
}

static void tracer_apply_orders(struct tracer *tr)
{
	struct tracee *t;

	while ((t = tracer_next_due(tr)))
		tracer_apply(tr, t);
}

/* The thread */

static void tracer_sleep(struct tracer *tr)
{
	struct pollfd fds[2] = {{tr->sigchld, POLLIN, 0}, {tr->wakeup_fd, POLLIN, 0}};
	uint64_t now = nsec_now(CLOCK_MONOTONIC), until = tr->scan ? tr->scan_at : UINT64_MAX;
	uint64_t attach_at = tracer_next_attach(tr), ns = 0;
	struct timespec timeout;
	eventfd_t wakeups;

	if (attach_at < until)
		until = attach_at;
	if (tr->liveness_at && tr->liveness_at < until)
		until = tr->liveness_at;
	if (until > now)
		ns = until - now;
	timeout = nsec_timespec(ns);
	ppoll(fds, 2, until == UINT64_MAX ? NULL : &timeout, NULL);
	eventfd_read(tr->wakeup_fd, &wakeups);
}

/* A signal announces one report, but none of those that follow before the signal is read. */
static void tracer_read_signals(struct tracer *tr)
{
	struct signalfd_siginfo si;

	for (int n = 0; n < TRACER_REPORTS_MAX && read(tr->sigchld, &si, sizeof(si)) == sizeof(si);
		n++) {
		bool ended = si.ssi_code == CLD_EXITED || si.ssi_code == CLD_KILLED ||
			     si.ssi_code == CLD_DUMPED;

		tr->scan = true;
		if (!tracer_wait_event(tr, (pid_t)si.ssi_pid) && ended)
			tracer_check_end(tr, (pid_t)si.ssi_pid);
	}
}

/* Finds reports without a signal. The kernel walks all tracees for that, and there may be
 * thousands, so it may take at most half of the time. */
static void tracer_scan(struct tracer *tr)
{
	uint64_t begin = nsec_now(CLOCK_MONOTONIC), end;
	int n = 0;

	if (!tr->scan || begin < tr->scan_at)
		return;
	while (n < TRACER_REPORTS_MAX && tracer_wait_event(tr, 0))
		n++;
	end = nsec_now(CLOCK_MONOTONIC);
	tr->scan = n == TRACER_REPORTS_MAX;
	tr->scan_at = end + (end - begin);
}

enum { TRACER_FIFO = 1 };

static void *tracer_main(void *arg)
{
	struct tracer *tr = arg;

	tr->tid = gettid();
	thread_set_name("pfm/tracer");
	/* SCHED_FIFO where permitted, as stopped tracees wait for this thread. */
	thread_set_fifo(pthread_self(), TRACER_FIFO);
	while (!atomic_load(&tr->quit)) {
		tracer_sleep(tr);
		tracer_read_signals(tr);
		tracer_apply_orders(tr);
		tracer_handle_attaches(tr);
		tracer_scan(tr);
		tracer_check_liveness(tr);
	}
	return NULL;
}

/* An ignored SIGCHLD, which the daemon may have inherited, is not sent for stops. */
static int tracer_open_fds(struct tracer *tr, struct err *e)
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
	tr->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (tr->wakeup_fd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	return 0;
}

/* The lock has priority inheritance, as an ordinary thread may hold it while the tracer waits for
 * it. */
static void tracer_init_lock(struct tracer *tr)
{
	pthread_mutexattr_t mutex;

	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&tr->lock, &mutex);
	pthread_mutexattr_destroy(&mutex);
}

static void tracer_free_tracees(struct tracer *tr)
{
	for (size_t i = 0; tr->tracees.bucket && i < tr->tracees.nbuckets; i++) {
		struct hash_node *next;

		for (struct hash_node *node = tr->tracees.bucket[i]; node; node = next) {
			next = node->next;
			free(container_of(node, struct tracee, node));
		}
	}
	hash_free(&tr->tracees);
}

static void tracer_cleanup(struct tracer **at)
{
	struct tracer *tr = *at;

	if (!tr)
		return;
	tracer_free_tracees(tr);
	if (tr->has_cancel_timer)
		timer_delete(tr->cancel_timer);
	pthread_mutex_destroy(&tr->lock);
	cleanup_close(&tr->sigchld);
	cleanup_close(&tr->wakeup_fd);
	free(tr);
}

int tracer_new(const struct tracer_ops *ops, void *arg, struct tracer **out, struct err *e)
{
	__attribute__((cleanup(tracer_cleanup))) struct tracer *tr = calloc(1, sizeof(*tr));
	int rc;

	if (!tr)
		return err_set(e, ENOMEM, "no memory to follow threads");
	tr->ops = ops;
	tr->arg = arg;
	tr->sigchld = tr->wakeup_fd = -1;
	list_init(&tr->due);
	list_init(&tr->attaches);
	list_init(&tr->repeated);
	tracer_init_lock(tr);
	if (hash_init(&tr->tracees) < 0)
		return err_set(e, ENOMEM, "no memory to follow threads");
	rc = tracer_open_fds(tr, e);
	if (rc < 0)
		return rc;
	rc = thread_start(&tr->thread, tracer_main, tr);
	if (rc)
		return err_set(e, rc, "pthread_create: %s: the tracer", err_name(rc));
	*out = take_ptr(&tr);
	return 0;
}

/*
 * The end of the tracer's thread detaches all tracees at once, even those that cannot be stopped.
 * The kernel has done so when the thread's id is gone, a little after the thread can be joined.
 */
void tracer_free(struct tracer *tr)
{
	if (!tr)
		return;
	atomic_store(&tr->quit, true);
	eventfd_write(tr->wakeup_fd, 1);
	pthread_join(tr->thread, NULL);
	while (tgkill(getpid(), tr->tid, 0) == 0)
		usleep(100);
	tracer_cleanup(&tr);
}
