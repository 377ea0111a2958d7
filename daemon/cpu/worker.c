// SPDX-License-Identifier: MIT
/*
 * What this thread executes in user mode while counters run is counted by them. So it is short
 * where that matters: it sleeps in one futex call, and between the register access that starts
 * counting and that sleep it does no more than hand the job to the session thread.
 */
#include "daemon/cpu/worker.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/cpu/exec.h"

struct worker {
	pthread_t thread;
	unsigned cpu;
	struct backend *be;
	struct news_box *box;
	struct engine_stats *stats;
	struct queue mail;
	atomic_uint bell;   /* rung after each letter; a futex */
	atomic_bool retired;
	struct news gone;

	/* The thread's own. */
	struct backend_cpu *regs;
	struct tenant *tenant; /* the one loaded here */
	uint64_t poll_at;      /* CLOCK_MONOTONIC ns; 0: never */
	struct plan plan;
};

void news_send(struct news_box *box, struct news *n)
{
	static const uint64_t one = 1;
	ssize_t rc;

	queue_put(&box->queue, &n->link);
	/* EAGAIN means that the counter is at its limit: it is readable, all the same. */
	rc = write(box->fd, &one, sizeof(one));
	(void)rc;
}

static void ring(struct worker *w)
{
	atomic_fetch_add_explicit(&w->bell, 1, memory_order_release);
	syscall(SYS_futex, &w->bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* True if it is time to look at the counters. */
static bool sleep_until_rung(struct worker *w, unsigned seen)
{
	struct timespec until = {(time_t)(w->poll_at / 1000000000), (long)(w->poll_at % 1000000000)};

	return syscall(SYS_futex, &w->bell, FUTEX_WAIT_BITSET_PRIVATE, seen,
		w->poll_at ? &until : NULL, NULL, FUTEX_BITSET_MATCH_ANY) < 0 && errno == ETIMEDOUT;
}

/*
 * Pinned, so that register accesses need no interrupt on another CPU; and before ordinary
 * threads, so that a busy CPU can still be stopped in time. Neither is needed for a right count,
 * only for a sharp one: where it is refused (a CPU of the model that this machine does not have,
 * a container without CAP_SYS_NICE), the worker does without.
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
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

static void set_poll(struct worker *w, const struct context *ctx)
{
	uint64_t interval = ctx_poll_interval(ctx);

	w->poll_at = interval ? clock_ns() + interval : 0;
}

static int execute(struct worker *w, struct tenant *t, struct command *cmd, struct err *e)
{
	uint64_t thefts = t->ctx.thefts;
	int rc;

	if (cmd->verb == CMD_LOAD && !w->regs) {
		rc = w->be->ops->cpu_open(w->be, w->cpu, &w->regs, e);
		if (rc < 0)
			return rc;
	}
	rc = exec_command(w->be, w->regs, &t->ctx, cmd, &w->plan, e);
	if (t->ctx.thefts != thefts)
		atomic_fetch_add(&w->stats->thefts, t->ctx.thefts - thefts);
	return rc;
}

static void run_job(struct worker *w, struct job *job)
{
	struct tenant *t = job->tenant;
	int waiting = JOB_WAITING;
	bool unloaded;

	if (!atomic_compare_exchange_strong(&job->state, &waiting, JOB_BEGUN)) {
		job->rc = err_set(&job->err, EINTR, "interrupted before it began");
	} else if (job->cmd.verb == CMD_LOAD && !job->initial && t->ctx.state == CTX_UNLOADED) {
		job->bounced = true;
	} else {
		job->rc = execute(w, t, &job->cmd, &job->err);
		if (job->initial)
			w->tenant = t;
		set_poll(w, &t->ctx);
	}
	unloaded = t->ctx.state == CTX_UNLOADED;
	atomic_fetch_sub_explicit(&t->inflight, 1, memory_order_release);
	/* From here on the session thread may take an unloaded tenant back. */
	if (unloaded && !atomic_exchange(&t->news_sent, true))
		news_send(w->box, &t->news);
	if (job->bounced || job->here)
		news_send(w->box, &job->news);
	else
		job->done(job);
}

static void poll_counters(struct worker *w)
{
	struct command cmd = {.verb = CMD_POLL};
	struct err e;

	if (!w->tenant)
		return;
	execute(w, w->tenant, &cmd, &e);
	atomic_fetch_add(&w->stats->polls, 1);
	set_poll(w, &w->tenant->ctx);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	settle(w->cpu);
	for (;;) {
		unsigned seen = atomic_load_explicit(&w->bell, memory_order_acquire);
		struct link *mail = queue_take(&w->mail);

		if (!mail && atomic_load(&w->retired))
			break;
		if (!mail && sleep_until_rung(w, seen))
			poll_counters(w);
		while (mail) {
			struct job *job = link_entry(mail, struct job, link);

			mail = mail->next;
			run_job(w, job);
		}
	}
	if (w->regs)
		w->be->ops->cpu_close(w->regs);
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
	w->be = be;
	w->box = box;
	w->stats = stats;
	w->gone.kind = NEWS_WORKER_GONE;
	rc = pthread_create(&w->thread, NULL, worker_main, w);
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
	atomic_store(&w->retired, true);
	ring(w);
}

void worker_free(struct worker *w)
{
	pthread_join(w->thread, NULL);
	free(w);
}

struct worker *worker_of_news(struct news *n)
{
	return link_entry(n, struct worker, gone);
}

unsigned worker_cpu(const struct worker *w)
{
	return w->cpu;
}
