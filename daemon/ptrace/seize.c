// SPDX-License-Identifier: MIT
/*
 * Attaching to threads. PTRACE_SEIZE waits while the thread's process is in an exec, possibly
 * forever, if the exec waits for another tracer or for a filesystem that does not answer. So an
 * attempt is cut short and repeated later: the tracer's other work continues, and other users'
 * requests do not wait. Each user has one request under way; the next ones wait for it.
 */
#include "daemon/ptrace/tracer_i.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
	SEIZE_TRY_NS = 1000000,      /* for attempts, shared by the requests that are repeated */
	SEIZE_TRY_MIN_NS = 50000,    /* for one attempt, at least */
	SEIZE_FIRST_NS = 1000000,    /* before the second attempt, and doubled for each later one */
	SEIZE_TRIES = 7,             /* repetitions, which take 127 ms */
	SEIZE_REQUESTS_MAX = 64,     /* requests handled before the tracer's other work */
	SEIZE_UNHANDLED_MAX = 8,     /* calls of joined() for a process */
	SEIZE_LIST_BYTES = 256,      /* about ten threads */
	SEIZE_PASSES_MAX = 1000,     /* through the threads of a process */
	SEIZE_REFUSED_NS = 100000000 /* for which a process that was given up is not tried */
};

/* How long (ns) after it was given up a process is tried only once. */
#define SEIZE_REMEMBERED_NS (10 * 1000000000ULL)

#define SEIZE_CANCEL_SIGNAL SIGUSR1

/* All zero if there is no such thread. */
static struct proc_status seize_status(pid_t tid)
{
	struct proc_status s = {0};
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(tid, &ignored);

	if (dir >= 0)
		proc_status(dir, PROC_FILE_MAX, &s, &ignored);
	return s;
}

static int seize_refused_exec(pid_t tid, struct err *e)
{
	return err_set(e, EAGAIN,
		"thread %d's process is in execve(), during which the kernel allows no ptrace "
		"attach: try again when it is done",
		tid);
}

static int seize_refused_traced(pid_t tid, pid_t by, struct err *e)
{
	return err_set(e, EBUSY,
		"thread %d is already traced by %d (%s): end that first, or load with ptrace=no",
		tid, by, seize_status(by).name);
}

static int seize_refused(const struct tracer *tr, pid_t tid, int no, struct err *e)
{
	pid_t by;

	if (no == EAGAIN)
		return seize_refused_exec(tid, e);
	if (no == ESRCH || proc_is_zombie(tid) || (kill(tid, 0) < 0 && errno == ESRCH))
		return err_set(e, ESRCH,
			"thread %d does not exist or has ended: choose one that ps -eL shows", tid);
	by = seize_status(tid).tracer;
	if (by == tr->tid)
		return err_set(e, EBUSY, "thread %d is followed already", tid);
	if (by)
		return seize_refused_traced(tid, by, e);
	return err_set(e, no,
		"PTRACE_SEIZE: %s: thread %d cannot be traced: this needs CAP_SYS_PTRACE, and "
		"kernel.yama.ptrace_scope below 3",
		err_name(no), tid);
}

/* Target of the signal handler's jump, while the calling thread may be cancelled. */
static sigjmp_buf seize_cancelled;
static _Thread_local volatile sig_atomic_t seize_cancellable;

static void seize_cancel(int sig)
{
	(void)sig;
	if (seize_cancellable)
		siglongjmp(seize_cancelled, 1);
}

/* Installs the handler and creates the timer, once. The tracer's thread. */
static int seize_init_cancel(struct tracer *tr, struct err *e)
{
	const struct sigaction sa = {.sa_handler = seize_cancel};
	struct sigevent to = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SEIZE_CANCEL_SIGNAL};

	if (tr->has_cancel_timer)
		return 0;
	to._sigev_un._tid = tr->tid;
	sigaction(SEIZE_CANCEL_SIGNAL, &sa, NULL);
	if (timer_create(CLOCK_MONOTONIC, &to, &tr->cancel_timer) < 0)
		return err_set(e, ENOMEM, "timer_create: %s: the tracer", err_name(errno));
	tr->has_cancel_timer = true;
	return 0;
}

/* Starts the timer, or stops it if @ns is 0. It repeats, as the first signal may come before the
 * system call. */
static void seize_set_timer(struct tracer *tr, long ns)
{
	const struct itimerspec at = {{0, ns}, {0, ns}};

	timer_settime(tr->cancel_timer, 0, &at, NULL);
}

/*
 * Tries to attach to thread @tid. -EAGAIN: cancelled.
 *
 * A signal whose handler returns restarts the system call, with or without SA_RESTART. So the
 * handler jumps. The signal is unblocked only around ptrace(), which is one system call: the jump
 * leaves no lock held and nothing half done except the attachment, which tracer_traces() then
 * finds. A handler that changed the saved registers instead would have to know, for each
 * architecture, whether the system call had begun.
 */
static int seize_try(struct tracer *tr, pid_t tid, long options)
{
	static const struct timespec now;
	volatile int rc = -EINPROGRESS;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SEIZE_CANCEL_SIGNAL);
	if (sigsetjmp(seize_cancelled, true)) {
		seize_cancellable = false;
		/* The signal may have come just after the system call. */
		if (rc == -EINPROGRESS)
			rc = tracer_traces(tid) ? 0 : -EAGAIN;
	} else {
		seize_set_timer(tr, tr->try_ns);
		seize_cancellable = true;
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		rc = ptrace(PTRACE_SEIZE, tid, 0, options) == 0 ? 0 : -errno;
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		seize_cancellable = false;
	}
	seize_set_timer(tr, 0);
	/* Drops a signal that came too late. */
	while (sigtimedwait(&set, NULL, &now) == SEIZE_CANCEL_SIGNAL)
		;
	return rc;
}

/* Attaching to a thread group leader that has exited fails with EPERM. This tries once more, as its
 * id may have passed to a thread of its process that executed a program meanwhile. */
static int seize_try_leader(struct tracer *tr, pid_t tid, long options)
{
	int rc = seize_try(tr, tid, options);

	if (rc != -EPERM || seize_status(tid).tracer || proc_is_zombie(tid))
		return rc;
	return seize_try(tr, tid, options);
}

/* An older tracee with the same id has vanished: otherwise, the kernel would have refused to
 * attach. */
static struct tracee *seize_add(struct tracer *tr, struct tracee *t, pid_t tid)
{
	struct tracee *old = tracer_find(tr, tid);

	if (old)
		tracer_forget(tr, old);
	t->tid = tid;
	tracer_add(tr, t);
	return t;
}

/* The outcome of a pass or an attempt, unless it is 0 or an error. */
enum { SEIZE_LATER = 1, SEIZE_AGAIN = 2 };

static long seize_options(const struct tracer_attach *req)
{
	long options = PTRACE_O_TRACEEXEC;

	if (req->process || req->follow)
		options |= PTRACE_O_TRACECLONE;
	if (req->follow)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	return options;
}

static int seize_attach(struct tracer *tr, pid_t tid, struct tracer_attach *req)
{
	CLEANUP_FREE struct tracee *t = tracee_new(tid);
	int rc;

	if (!t)
		return err_set(&req->err, ENOMEM, "no memory to follow thread %d", tid);
	rc = seize_init_cancel(tr, &req->err);
	if (rc < 0)
		return rc;
	rc = seize_try_leader(tr, tid, seize_options(req));
	if (rc < 0)
		return seize_refused(tr, tid, -rc, &req->err);
	if (tracer_traces(tid) || !tracer_traces(req->tgid)) {
		t->known = true;
		t->options = seize_options(req);
		seize_add(tr, take_ptr(&t), tid);
		return 0;
	}
	/* It executed a program during the system call, and has its leader's id now. */
	t->wants = WANT_DETACH;
	tracer_apply(tr, seize_add(tr, take_ptr(&t), req->tgid));
	return err_set(&req->err, ESRCH,
		"thread %d executed a program and has the number %d now: load on that", tid,
		req->tgid);
}

/* Attaches to the requested thread, or keeps it attached. */
static int seize_requested(struct tracer *tr, struct tracer_attach *req)
{
	struct tracee *t = req->by_itself ? tracer_find(tr, req->tid) : NULL;

	if (!t || !(tracer_wants(tr, t) & WANT_DETACH))
		return seize_attach(tr, req->tid, req);
	if (t->options != seize_options(req)) {
		err_set(&req->err, EAGAIN, "thread %d is still being detached: try again",
			req->tid);
		return SEIZE_LATER;
	}
	pthread_mutex_lock(&tr->lock);
	tracer_want(tr, t, 0, WANT_DETACH);
	pthread_mutex_unlock(&tr->lock);
	t->late = 0;
	req->kept = true;
	return 0;
}

/*
 * All threads of a process
 *
 * A pass lists the threads, and attaches to those that are not traced. Passes are repeated until
 * one finds none. Then all threads are traced: a thread that was not listed has ended, or was
 * created by one that was not traced and therefore listed. The kernel lists all threads that exist
 * throughout the pass, as long as the one that it has got to is not reaped meanwhile; and traced
 * threads are reaped by the listing thread. A pass that waits for ops in between may miss some, so
 * it is never the last.
 */

static int seize_report_joined(struct tracer *tr, struct tracer_attach *req, struct tracee *t)
{
	/* born() reports a tracee that is not known yet. */
	if (!t->known || t->joined == req)
		return 0;
	t->joined = req;
	atomic_fetch_add(&req->unhandled, 1);
	if (tr->ops->joined(tr->arg, req, t->tid))
		return 0;
	pthread_mutex_lock(&tr->lock);
	tracer_want(tr, t, WANT_DETACH, 0);
	pthread_mutex_unlock(&tr->lock);
	return err_set(&req->err, ENOMEM, "no memory to follow thread %d", t->tid);
}

static int seize_too_fast(struct tracer_attach *req)
{
	err_set(&req->err, EAGAIN,
		"the threads of process %d come and go too fast to attach to: stop it (SIGSTOP) "
		"during the load",
		req->tgid);
	return SEIZE_LATER;
}

/* True if @tid is the first thread and has ended, which stays listed. If an exec gives its id to
 * another thread later, the requested thread has ended, and the caller notices that. */
static bool seize_is_ended_first(const struct tracer_attach *req, pid_t tid)
{
	return tid == req->tgid && tid != req->tid && proc_is_zombie(tid);
}

/* 0: thread @tid is traced, or need not be. SEIZE_AGAIN: it is attached now. SEIZE_LATER: it has
 * ended, or is being detached. */
static int seize_thread(struct tracer *tr, struct tracer_attach *req, pid_t tid)
{
	struct tracee *t = tracer_find(tr, tid);
	int rc;

	if (t && tracer_wants(tr, t) & WANT_DETACH) {
		err_set(&req->err, EAGAIN, "thread %d is still being detached: try again", tid);
		return SEIZE_LATER;
	}
	if (!t && seize_is_ended_first(req, tid))
		return 0;
	rc = t ? 0 : seize_attach(tr, tid, req);
	if (rc == -EBUSY && tracer_traces(tid))
		return 0;
	if (rc == -ESRCH)
		return seize_too_fast(req);
	if (rc < 0)
		return rc;
	if (tid != req->tid)
		rc = seize_report_joined(tr, req, tracer_find(tr, tid));
	return rc < 0 || t ? rc : SEIZE_AGAIN;
}

static bool seize_is_full(struct tracer_attach *req)
{
	return atomic_load(&req->unhandled) >= SEIZE_UNHANDLED_MAX;
}

/* Notes the outcome of a thread for the pass. */
static void seize_note_outcome(struct tracer_attach *req, int rc)
{
	if (rc > req->pass_rc)
		req->pass_rc = rc;
}

/* Fails, as a list that ends early would be taken for a complete one. */
static int seize_list_failed(struct tracer_attach *req)
{
	if (errno == ENOENT || errno == ESRCH)
		return err_set(&req->err, ESRCH, "process %d has ended", req->tgid);
	return err_set(&req->err, errno,
		"the threads of process %d cannot be listed: /proc/%d/task: %s: try again, or "
		"raise LimitNOFILE",
		req->tgid, req->tgid, err_name(errno));
}

/* Attaches to the next few threads in the list. 1: the end of the list was reached. The list is
 * read in small pieces, as an id that was read long ago may be another thread's by now. */
static int seize_some_listed(struct tracer *tr, struct tracer_attach *req)
{
	union {
		struct dirent64 first;
		char bytes[SEIZE_LIST_BYTES];
	} list;
	ssize_t n = getdents64(req->list_fd, &list, sizeof(list)), at = 0;

	while (at < n) {
		const struct dirent64 *de = (const void *)(list.bytes + at);
		int rc = 0;

		at += de->d_reclen;
		if (de->d_name[0] != '.')
			rc = seize_thread(tr, req, (pid_t)strtol(de->d_name, NULL, 10));
		if (rc < 0)
			return rc;
		seize_note_outcome(req, rc);
	}
	return n < 0 ? seize_list_failed(req) : n == 0;
}

static int seize_begin_pass(struct tracer_attach *req)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", req->tgid);
	req->list_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	req->pass_rc = 0;
	return req->list_fd < 0 ? seize_list_failed(req) : 0;
}

static void seize_end_pass(struct tracer_attach *req)
{
	CLEANUP_CLOSE int ended = take_fd(&req->list_fd);

	(void)ended;
}

/* Begins a pass, or continues it. */
static int seize_pass(struct tracer *tr, struct tracer_attach *req)
{
	int rc = 0;

	if (req->list_fd < 0)
		rc = seize_begin_pass(req);
	while (rc == 0 && !seize_is_full(req))
		rc = seize_some_listed(tr, req);
	if (rc == 0) {
		seize_note_outcome(req, SEIZE_AGAIN);
		return SEIZE_AGAIN;
	}
	seize_end_pass(req);
	return rc < 0 ? rc : req->pass_rc;
}

static int seize_process(struct tracer *tr, struct tracer_attach *req)
{
	int rc = req->attached ? 0 : seize_requested(tr, req);

	if (rc)
		return rc;
	req->attached = true;
	if (!req->process)
		return 0;
	if (atomic_load(&req->stop))
		return err_set(&req->err, ECANCELED, "another thread cannot be loaded");
	rc = seize_pass(tr, req);
	if (rc != SEIZE_AGAIN || req->list_fd >= 0 || ++req->passes < SEIZE_PASSES_MAX)
		return rc;
	return seize_too_fast(req);
}

/* Processes that were given up */

/* True if @tgid was last given up less than @ns ago. */
static bool seize_was_given_up(struct tracer *tr, pid_t tgid, uint64_t ns)
{
	struct given_up g;

	pthread_mutex_lock(&tr->lock);
	g = tr->given_up[(unsigned)tgid % GIVEN_UP_MAX];
	pthread_mutex_unlock(&tr->lock);
	return g.tgid == tgid && nsec_now(CLOCK_MONOTONIC) - g.at < ns;
}

/* A process whose entry is overwritten costs a few more attempts. */
static void seize_give_up(struct tracer *tr, pid_t tgid)
{
	pthread_mutex_lock(&tr->lock);
	tr->given_up[(unsigned)tgid % GIVEN_UP_MAX] =
		(struct given_up){tgid, nsec_now(CLOCK_MONOTONIC)};
	pthread_mutex_unlock(&tr->lock);
}

int tracer_check_given_up(struct tracer *tr, pid_t tgid, pid_t tid, struct err *e)
{
	return seize_was_given_up(tr, tgid, SEIZE_REFUSED_NS) ? seize_refused_exec(tid, e) : 0;
}

/* Requests */

/* The request of @uid that is being repeated; NULL: none. */
static struct tracer_attach *seize_of_user(struct tracer *tr, uid_t uid)
{
	struct tracer_attach *req;

	list_for_each_entry (req, &tr->repeated, entry)
		if (req->uid == uid)
			return req;
	return NULL;
}

static bool seize_is_hopeless(struct tracer *tr, const struct tracer_attach *req)
{
	return req->tries >= SEIZE_TRIES || req->passes >= SEIZE_PASSES_MAX ||
	       (!req->attached && seize_was_given_up(tr, req->tgid, SEIZE_REMEMBERED_NS));
}

static int seize_attempt(struct tracer *tr, struct tracer_attach *req)
{
	int rc = req->attached ? 0 : tracer_check_given_up(tr, req->tgid, req->tid, &req->err);

	if (rc < 0)
		return rc;
	rc = seize_process(tr, req);
	if (rc != -EAGAIN && rc != SEIZE_LATER)
		return rc;
	if (!seize_is_hopeless(tr, req))
		return SEIZE_LATER;
	if (rc == -EAGAIN)
		seize_give_up(tr, req->tgid);
	return -EAGAIN;
}

/* Requests that waited for @req are new again, ahead of those that came later. */
static void seize_finish(struct tracer *tr, struct tracer_attach *req, int rc)
{
	list_del(&req->entry);
	seize_end_pass(req);
	while (!list_empty(&req->behind)) {
		struct list_head *last = req->behind.prev;

		list_del(last);
		list_add(last, &tr->attaches);
	}
	req->rc = rc;
	req->done(req);
}

static void seize_handle(struct tracer *tr, struct tracer_attach *req)
{
	int rc = seize_attempt(tr, req);

	if (rc <= 0) {
		seize_finish(tr, req, rc);
		return;
	}
	req->try_at = nsec_now(CLOCK_MONOTONIC);
	if (rc == SEIZE_LATER)
		req->try_at += SEIZE_FIRST_NS << req->tries++;
	else if (req->list_fd >= 0)
		req->try_at += SEIZE_FIRST_NS;
	list_del(&req->entry);
	list_add_tail(&req->entry, &tr->repeated);
}

static void seize_take_requests(struct tracer *tr)
{
	for (struct link *next, *l = queue_take(&tr->attach_reqs); l; l = next) {
		struct tracer_attach *req = container_of(l, struct tracer_attach, link);

		next = l->next;
		list_init(&req->behind);
		req->tries = req->passes = 0;
		req->list_fd = -1;
		req->attached = req->kept = false;
		list_add_tail(&req->entry, &tr->attaches);
	}
}

static void seize_handle_new(struct tracer *tr)
{
	for (int n = 0; n < SEIZE_REQUESTS_MAX && !list_empty(&tr->attaches); n++) {
		struct tracer_attach *req =
			list_entry(tr->attaches.next, struct tracer_attach, entry);
		struct tracer_attach *other = seize_of_user(tr, req->uid);

		if (!other) {
			seize_handle(tr, req);
			continue;
		}
		list_del(&req->entry);
		list_add_tail(&req->entry, &other->behind);
	}
}

/* Tries each request that is due once: its next attempt is due later. */
static void seize_repeat(struct tracer *tr)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);
	struct tracer_attach *req, *next;

	list_for_each_entry_safe (req, next, &tr->repeated, entry)
		if (req->try_at <= now)
			seize_handle(tr, req);
}

/* The time for one attempt (ns), chosen so that a round of all of them takes little more than one
 * alone. */
static long seize_try_ns(const struct tracer *tr)
{
	const struct tracer_attach *req;
	long n = 1;

	list_for_each_entry (req, &tr->repeated, entry)
		n++;
	return SEIZE_TRY_NS / n > SEIZE_TRY_MIN_NS ? SEIZE_TRY_NS / n : SEIZE_TRY_MIN_NS;
}

void tracer_handle_attaches(struct tracer *tr)
{
	tr->try_ns = seize_try_ns(tr);
	seize_take_requests(tr);
	seize_handle_new(tr);
	seize_repeat(tr);
}

uint64_t tracer_next_attach(const struct tracer *tr)
{
	const struct tracer_attach *req;
	uint64_t at = list_empty(&tr->attaches) ? UINT64_MAX : 0;

	list_for_each_entry (req, &tr->repeated, entry)
		if (req->try_at < at)
			at = req->try_at;
	return at;
}

void tracer_seize(struct tracer *tr, struct tracer_attach *req)
{
	queue_put(&tr->attach_reqs, &req->link);
	eventfd_write(tr->wakeup_fd, 1);
}
