// SPDX-License-Identifier: MIT
/*
 * What this thread executes in user mode while counters run is counted by them. So it is short
 * where that matters: it sleeps in one system call, and between the register access that starts
 * counting and that sleep it does no more than hand the job to the session thread.
 */
#include "daemon/cpu/worker.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/raw_syscall.h"
#include "daemon/cpu/engine_i.h"
#include "daemon/cpu/exec.h"
#include "daemon/cpu/lookout.h"
#include "daemon/cpu/thread.h"

enum { RETRY_NS = 100000 };

enum order {
	ORDER_LOOK = 1 << 0,    /* at the counters, at once */
	ORDER_RETIRE = 1 << 1,  /* when there is no more mail */
	ORDER_WITNESS = 1 << 2, /* sleep in step with the witness */
};

struct worker {
	pthread_t thread;
	unsigned cpu;
	struct news_box *box;
	struct engine_stats *stats;
	struct queue mail;
	atomic_uint bell;      /* rung after each letter; a futex */
	atomic_int polls;      /* eventfd that it sleeps on instead; -1: it does not */
	atomic_uint orders;    /* enum order: one word, to be looked at on the way to sleep */
	atomic_ullong wake_at; /* wake.at, for others */
	struct news gone;

	/* The thread's own. */
	struct executor x;
	struct tenant *tenant;  /* the one loaded here */
	struct wake wake;       /* what it wants by itself, */
	bool timed;             /* and whether that is a time to sleep to, */
	struct timespec until;  /* which is this (CLOCK_MONOTONIC) */
	struct lookout lookout; /* for sampling: who is running, and sleep in step with it */
	int eventfd;            /* -1 until then */
	struct command ticking;
	struct err err;
};

/* One of both sees what the other has done: the worker takes its mail after it has set polls. */
static void ring(struct worker *w)
{
	int fd;

	atomic_fetch_add(&w->bell, 1);
	fd = atomic_load(&w->polls);
	if (fd >= 0)
		eventfd_write(fd, 1);
	else
		syscall(SYS_futex, &w->bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void sleep_to(struct worker *w, uint64_t at)
{
	w->until = nsec_timespec(at);
}

/* A model's time only passes when somebody advances it, who has the counters looked at then. */
static void note_wake(struct worker *w, const struct context *ctx)
{
	w->wake = ctx_wake(ctx);
	w->timed = w->wake.at == 1 || (w->wake.at && !w->x.be->sim);
	sleep_to(w, w->wake.at);
	if (w->lookout.witness)
		lookout_set(&w->lookout, ctx, w->wake, nsec_now(CLOCK_MONOTONIC));
	atomic_store_explicit(&w->wake_at, w->wake.at, memory_order_relaxed);
}

/* True if it is time to look at the counters. */
static bool sleep_until_rung(struct worker *w, unsigned seen)
{
	return raw_syscall6(SYS_futex, (long)&w->bell, FUTEX_WAIT_BITSET_PRIVATE, seen,
		       (long)(w->timed ? &w->until : NULL), 0,
		       FUTEX_BITSET_MATCH_ANY) == -ETIMEDOUT;
}

/*
 * Pinned, so that register accesses need no interrupt on another CPU; and before ordinary
 * threads, so that a busy CPU can still be stopped in time. Neither is needed for a right count,
 * only for a sharp one: where it is refused (a CPU of the model that this machine does not have,
 * a container without CAP_SYS_NICE), the worker does without. Pinned last: an ordinary thread could
 * wait for seconds there, and the session thread with it.
 */
static void settle(unsigned cpu)
{
	struct sched_param param = {.sched_priority = 1};
	cpu_set_t set;
	char name[16];

	snprintf(name, sizeof(name), "pfm/%u", cpu);
	pthread_setname_np(pthread_self(), name);
	CPU_ZERO(&set);
	if (cpu < CPU_SETSIZE)
		CPU_SET(cpu, &set);
	pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* A command has come to where nothing of the context changes any more. */
static void settled(struct worker *w, struct tenant *t)
{
	note_wake(w, &t->ctx);
	tenant_settled(t, w->box);
}

static int execute(struct worker *w, struct tenant *t, struct command *cmd, struct err *e)
{
	int rc = exec_command(&w->x, &t->ctx, cmd, e);

	/* If there is a last plan, now: what it starts would count this. */
	settled(w, t);
	return rc;
}

/* What starts the counters; nothing is left to be done, unless it fails. */
static int execute_last(struct worker *w, struct tenant *t, struct command *cmd, struct err *e)
{
	int rc = exec_last(&w->x, &t->ctx, cmd, e);

	if (__builtin_expect(rc < 0, 0))
		settled(w, t);
	return rc;
}

/* For a context that samples. The model's CPUs run nobody. */
static int open_lookout(struct worker *w, const struct job *job, struct err *e)
{
	const pfm_buffer_fmt_t *fmt = job->tenant->ctx.smpl.fmt;
	int rc;

	if (!fmt || w->x.be->sim)
		return 0;
	w->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->eventfd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	rc = lookout_open(&w->lookout, w->cpu, job->cmd.limits.tick_ns, fmt->fmt_event != NULL,
		w->eventfd, e);
	if (rc < 0)
		return rc;
	w->x.lookout = &w->lookout;
	atomic_store(&w->polls, w->eventfd);
	atomic_fetch_or(&w->orders, ORDER_WITNESS);
	return 0;
}

static void close_lookout(struct worker *w)
{
	atomic_fetch_and(&w->orders, ~(unsigned)ORDER_WITNESS);
	atomic_store(&w->polls, -1);
	w->x.lookout = NULL;
	lookout_close(&w->lookout);
}

static int move_in(struct worker *w, struct job *job)
{
	int rc = w->x.be->ops->cpu_open(w->x.be, w->cpu, &w->x.cpu, &job->err);

	w->tenant = job->tenant;
	if (rc == 0)
		rc = open_lookout(w, job, &job->err);
	return rc < 0 ? rc : execute(w, job->tenant, &job->cmd, &job->err);
}

/* Before the session thread learns of it: it may make this CPU another worker at once. */
static void close_cpu(struct worker *w)
{
	close_lookout(w);
	virtuals_close(&w->x.virtuals);
	if (w->x.cpu)
		w->x.be->ops->cpu_close(w->x.cpu);
	w->x.cpu = NULL;
}

/* What starts counters: it runs on and is the session thread's to answer, so no more is to do. */
static void run_last(struct worker *w, struct job *job)
{
	struct tenant *t = job->tenant;

	job->rc = execute_last(w, t, &job->cmd, &job->err);
	atomic_fetch_sub(&t->inflight, 1);
	news_send(w->box, &job->news);
}

static void run_job(struct worker *w, struct job *job)
{
	struct tenant *t = job->tenant;
	bool unloaded;

	job->rc = job_begin(job);
	if (job->rc < 0) {
		; /* nothing is left to be done */
	} else if (command_stops(job->cmd.verb)) {
		exec_quiet(&w->x, &t->ctx);
		job->rc = execute(w, t, &job->cmd, &job->err);
	} else if (job->initial) {
		job->rc = move_in(w, job);
	} else if (job->cmd.verb == CMD_LOAD && t->ctx.state == CTX_UNLOADED) {
		job->bounced = true;
		atomic_store(&job->state, JOB_WAITING); /* it may still be interrupted */
	} else {
		job->rc = execute(w, t, &job->cmd, &job->err);
		if (job->rc == EXEC_LAST) {
			run_last(w, job);
			return;
		}
	}
	unloaded = t->ctx.state == CTX_UNLOADED;
	if (unloaded)
		close_cpu(w);
	/* One that bounces is in flight until it is back. */
	if (!job->bounced)
		tenant_leave(t, w->box, unloaded);
	if (job->bounced || job->here)
		news_send(w->box, &job->news);
	else
		job->done(job);
}

/* What the context wants by itself. A failure shows in the counts that are lost by it. */
static void tick(struct worker *w, bool switches)
{
	struct tenant *t = w->tenant;
	unsigned none = 0;

	/* Being read by the session thread just now, or there is mail: soon, then. */
	if (!atomic_compare_exchange_strong(&t->inflight, &none, 1)) {
		w->timed = true;
		sleep_to(w, nsec_now(CLOCK_MONOTONIC) + RETRY_NS);
		lookout_retry(&w->lookout, RETRY_NS);
		return;
	}
	if (switches)
		exec_quiet(&w->x, &t->ctx);
	w->ticking.verb = switches ? CMD_SWITCH : CMD_POLL;
	atomic_fetch_add_explicit(&w->stats->polls, 1, memory_order_relaxed);
	if (execute(w, t, &w->ticking, &w->err) == EXEC_LAST)
		execute_last(w, t, &w->ticking, &w->err);
	tenant_leave(t, w->box, false);
}

/* Makes room for more events. Whoever has the context now does it in passing. */
static void take_events(struct worker *w)
{
	struct tenant *t = w->tenant;
	pfm_smpl_where_t ignored;
	unsigned none = 0;

	if (!atomic_compare_exchange_strong(&t->inflight, &none, 1))
		return;
	lookout_read(&w->lookout, &t->ctx, nsec_now(CLOCK_MONOTONIC), &ignored);
	note_wake(w, &t->ctx);
	tenant_leave(t, w->box, false);
}

/* The same for one that samples. */
static void sleep_and_witness(struct worker *w)
{
	switch (lookout_sleep(&w->lookout)) {
	case WOKEN_LOOK:
		tick(w, w->wake.switches);
		break;
	case WOKEN_EVENTS:
		take_events(w);
		break;
	case WOKEN_RUNG:
		break;
	}
}

/* False: it is to end. */
static bool obey(struct worker *w, unsigned orders)
{
	if (orders & ORDER_RETIRE)
		return false;
	if (orders & ORDER_LOOK) {
		atomic_fetch_and(&w->orders, ~(unsigned)ORDER_LOOK);
		tick(w, false);
	} else {
		sleep_and_witness(w);
	}
	return true;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	settle(w->cpu);
	for (;;) {
		unsigned seen = atomic_load_explicit(&w->bell, memory_order_acquire);
		struct link *mail = queue_take(&w->mail);

		if (!mail) {
			unsigned orders = atomic_load_explicit(&w->orders, memory_order_acquire);

			if (__builtin_expect(orders, 0)) {
				if (!obey(w, orders))
					break;
			} else if (sleep_until_rung(w, seen)) {
				tick(w, w->wake.switches);
			}
		}
		while (mail) {
			struct job *job = link_entry(mail, struct job, link);

			mail = mail->next;
			run_job(w, job);
		}
	}
	close_cpu(w);
	news_send(w->box, &w->gone);
	return NULL;
}

int worker_new(struct backend *be, struct news_box *box, struct engine_stats *stats, unsigned cpu,
	struct worker **out, struct err *e)
{
	CLEANUP_FREE struct worker *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return err_set(e, ENOMEM, "no memory for a worker");
	w->cpu = cpu;
	w->x.be = be;
	w->x.stats = &stats->exec;
	w->box = box;
	w->stats = stats;
	w->gone.kind = NEWS_WORKER_GONE;
	w->eventfd = -1;
	atomic_init(&w->polls, -1);
	rc = thread_start(&w->thread, worker_main, w);
	if (rc)
		return err_set(e, rc, "cannot start the worker of CPU %u: %s (thread limit?)", cpu,
			err_name(rc));
	*out = take_ptr(&w);
	return 0;
}

void worker_mail(struct worker *w, struct job *job)
{
	queue_put(&w->mail, &job->link);
	ring(w);
}

void worker_retire(struct worker *w)
{
	atomic_fetch_or(&w->orders, ORDER_RETIRE);
	ring(w);
}

void worker_free(struct worker *w)
{
	pthread_join(w->thread, NULL);
	cleanup_close(&w->eventfd);
	free(w);
}

void worker_prod(struct worker *w)
{
	atomic_fetch_or(&w->orders, ORDER_LOOK);
	ring(w);
}

uint64_t worker_wake(const struct worker *w)
{
	return atomic_load_explicit(&w->wake_at, memory_order_relaxed);
}

struct worker *worker_of_news(struct news *n)
{
	return link_entry(n, struct worker, gone);
}

struct executor *worker_executor(struct worker *w)
{
	return &w->x;
}

unsigned worker_cpu(const struct worker *w)
{
	return w->cpu;
}
