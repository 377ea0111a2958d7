// SPDX-License-Identifier: MIT
/*
 * The user-mode instructions that this thread executes while counters count are counted, too. So
 * it sleeps in one system call, and between the register access that starts the counters and that
 * sleep it only sends the job to the session thread.
 */
#include "daemon/percpu/worker.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/raw_syscall.h"
#include "daemon/percpu/budget.h"
#include "daemon/percpu/engine_ctx.h"
#include "daemon/percpu/exec.h"
#include "daemon/percpu/interrupts.h"
#include "daemon/percpu/sample_tick.h"
#include "daemon/percpu/thread.h"
#include "daemon/percpu/thread_wake.h"

enum { RETRY_NS = 100000, WATCH_AGAIN_NS = 100000000, WORKER_FIFO = 1 };

enum worker_flag {
	/* Read the counters now. */
	WORKER_READ_COUNTERS = 1 << 0,
	/* End when the inbox is empty. */
	WORKER_RETIRE = 1 << 1,
	/* Sleep on eventfd, by worker_sleep_sampling(). */
	WORKER_SAMPLES = 1 << 2,
};

struct worker {
	pthread_t thread;
	/* The target: the thread with this number, which the session thread may change; 0: @cpu. */
	atomic_int tid;
	unsigned cpu;
	const struct worker_shared *shared;
	/* EVENT_WORKER_EXIT */
	struct event exit_event;
	/* Sent when the threads have lost their registers: see worker_set_gone(). */
	struct task_event gone_event;

	/* Written by other threads. */
	struct queue inbox;
	/* Wake-ups after each change of the inbox or of flags: the futex that the worker sleeps on
	 * unless wakeup_fd is set. */
	atomic_uint wakeups;
	/* enum worker_flag, in one word that is tested before the worker sleeps. */
	atomic_uint flags;

	/* Read by other threads. */
	/* The eventfd that the worker sleeps on; -1: the futex. */
	atomic_int wakeup_fd;
	/* wake.at */
	atomic_ullong next_wake;

	/* The worker's own. */
	struct executor x;
	struct budget_reservation reservation;
	/* The context that is loaded on this CPU. */
	struct engine_ctx *ec;
	/* When the context next requires a read of the counters. */
	struct wake wake;
	/* The sleep ends at until (CLOCK_MONOTONIC). */
	bool timed;
	struct timespec until;
	/* For a thread. */
	struct thread_wake thread_wake;
	/* Open for a context that samples or notifies, with @eventfd; -1 until then. For a thread,
	 * @eventfd is also open for alarms. */
	struct sample_tick sample_tick;
	int eventfd;
	/* The counters' interrupts end the sleep, and so does @interrupts_delay (ns). */
	bool interrupts;
	uint64_t interrupts_delay;
	/* Ends the sleep with POLLHUP, see backend_ops.thread_watch; -1: not watched. */
	int watch_fd;
	/* The watch could not be opened again, which is tried until it can: threads may be left. */
	bool watch_waits;
	struct command poll_cmd;
	struct err poll_err;
};

/* Each side sees what the other has written: the worker takes its inbox after it sets wakeup_fd. */
static void worker_send_wakeup(struct worker *w)
{
	int fd;

	atomic_fetch_add(&w->wakeups, 1);
	fd = atomic_load(&w->wakeup_fd);
	if (fd >= 0)
		eventfd_write(fd, 1);
	else
		syscall(SYS_futex, &w->wakeups, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* When the context next needs a command (CLOCK_MONOTONIC). */
static struct wake worker_find_wake(struct worker *w, const struct context *ctx)
{
	struct wake wake = ctx_wake(ctx);

	if (w->x.thread)
		wake = thread_wake_find(&w->thread_wake, &w->x, wake);
	if (wake.live_at && (!wake.at || wake.live_at < wake.at))
		wake = (struct wake){.at = wake.live_at};
	return wake;
}

/* Scripted time advances only by a command, which then makes workers read their counters. */
static void worker_set_wake(struct worker *w, const struct context *ctx)
{
	w->wake = worker_find_wake(w, ctx);
	w->timed = w->wake.at == 1 || (w->wake.at && !w->x.be->scripted);
	w->until = nsec_timespec(w->wake.at);
	w->interrupts = ctx->samples.interrupts && ctx->state == CTX_RUNNING && w->eventfd >= 0;
	if (w->interrupts)
		w->interrupts_delay = interrupts_delay(&w->x, ctx);
	if (w->sample_tick.ip_sampler)
		sample_tick_arm(&w->sample_tick, ctx, w->wake, nsec_now(CLOCK_MONOTONIC));
	atomic_store_explicit(&w->next_wake, w->wake.at, memory_order_relaxed);
}

/* True if it is time to read the counters. @seen: wakeups before the inbox was found empty. */
static bool worker_sleep(struct worker *w, unsigned seen)
{
	return raw_syscall6(SYS_futex, (long)&w->wakeups, FUTEX_WAIT_BITSET_PRIVATE, seen,
		       (long)(w->timed ? &w->until : NULL), 0,
		       FUTEX_BITSET_MATCH_ANY) == -ETIMEDOUT;
}

/*
 * Pins the thread, so that its register accesses need no interrupt on another CPU, and makes it
 * SCHED_FIFO, so that it can stop a busy CPU in time. Counts are right without either, so failures
 * are ignored: the CPU may be one of the simulator's, or CAP_SYS_NICE may be missing. The order
 * matters: on a busy CPU a SCHED_OTHER thread could wait for seconds, and the session thread with
 * it.
 */
static void worker_set_cpu(const struct worker *w)
{
	if (w->x.thread) {
		thread_set_name("pfm/t%d", atomic_load(&w->tid));
		return;
	}
	thread_set_name("pfm/%u", w->cpu);
	thread_set_fifo(pthread_self(), WORKER_FIFO);
	thread_pin(w->cpu);
}

static int worker_open_eventfd(struct worker *w, struct err *e)
{
	if (w->eventfd < 0)
		w->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->eventfd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	return 0;
}

/* From now on the worker sleeps on eventfd. */
static void worker_use_eventfd(struct worker *w)
{
	atomic_store(&w->wakeup_fd, w->eventfd);
	atomic_fetch_or(&w->flags, WORKER_SAMPLES);
}

/* To be called after a command, when the context does not change any more. */
static void worker_publish(struct worker *w, struct engine_ctx *ec)
{
	worker_set_wake(w, &ec->ctx);
	engine_ctx_changed(ec, w->shared->events);
}

/* True if @verb is to start counters that do not count. */
static bool worker_starts(const struct context *ctx, enum cmd_verb verb)
{
	return (verb == CMD_START && ctx->state == CTX_LOADED) ||
	       (verb == CMD_RESUME && ctx->state == CTX_RUNNING);
}

/* A context keeps its reservation while it runs, or will run again by a restart. */
static void worker_keep_reservation(struct worker *w, const struct context *ctx, enum cmd_verb verb)
{
	if (ctx->state != CTX_RUNNING && ctx->state != CTX_MASKED)
		budget_release(w->shared->budget, &w->reservation);
	else if (verb == CMD_WRITE)
		budget_update(w->shared->budget, &w->reservation);
}

static int worker_open_sampler(
	struct worker *w, const struct context *ctx, const struct command *cmd, struct err *e)
{
	const struct ip_sampler_conf conf = {
		.period_ns = cmd->limits.tick_ns,
		.events = ctx->smpl.fmt && ctx->smpl.fmt->fmt_event,
		.stacks = ctx_wants_stacks(ctx),
	};
	int rc;

	if (worker_open_eventfd(w, e) < 0)
		return -e->no;
	rc = sample_tick_open(&w->sample_tick, w->cpu, &conf, w->eventfd, e);
	if (rc < 0)
		return rc;
	w->x.sample_tick = &w->sample_tick;
	worker_use_eventfd(w);
	return 0;
}

/* For a thread that the backend opens, the interrupts of its counters tell what it executed, and
 * alarms tell when its sets are to be switched. */
static int worker_prepare_thread(struct worker *w, const struct context *ctx, struct err *e)
{
	if (!ctx_attributes(ctx) && !ctx_switches_by_time(ctx))
		return 0;
	if (worker_open_eventfd(w, e) < 0)
		return -e->no;
	w->thread_wake.alarms = ctx_switches_by_time(ctx);
	worker_use_eventfd(w);
	return interrupts_prepare(&w->x, ctx, e);
}

/* Does nothing unless the context samples or notifies. A context that only notifies does without
 * the sampler if opening it fails. Simulated CPUs run no threads. */
static int worker_attribute(
	struct worker *w, const struct context *ctx, const struct command *cmd, struct err *e)
{
	struct err ignored;

	if (w->x.thread)
		return worker_prepare_thread(w, ctx, e);
	if (!ctx_attributes(ctx) || w->x.be->sim || w->sample_tick.ip_sampler)
		return 0;
	if (ctx->smpl.fmt)
		return worker_open_sampler(w, ctx, cmd, e);
	worker_open_sampler(w, ctx, cmd, &ignored);
	return 0;
}

static int worker_exec(struct worker *w, struct engine_ctx *ec, struct command *cmd, struct err *e)
{
	struct err ignored;
	int rc = 0;

	if (worker_starts(&ec->ctx, cmd->verb))
		rc = budget_reserve(w->shared->budget, ec, &w->reservation, e);
	if (rc == 0)
		rc = exec_command(&w->x, &ec->ctx, cmd, e);
	worker_keep_reservation(w, &ec->ctx, cmd->verb);
	/* The write may have given a PMD notify for the first time. */
	if (cmd->verb == CMD_WRITE && ec->ctx.state == CTX_RUNNING)
		worker_attribute(w, &ec->ctx, cmd, &ignored);
	/* Before the plan that starts the counters, or they would count this. */
	worker_publish(w, ec);
	return rc;
}

/* The plan that starts the counters has failed. */
static void worker_last_failed(struct worker *w, struct engine_ctx *ec)
{
	worker_keep_reservation(w, &ec->ctx, CMD_START);
	worker_publish(w, ec);
}

static void worker_close_sampler(struct worker *w)
{
	atomic_fetch_and(&w->flags, ~(unsigned)WORKER_SAMPLES);
	atomic_store(&w->wakeup_fd, -1);
	w->x.sample_tick = NULL;
	sample_tick_close(&w->sample_tick);
}

static int worker_watch_thread(struct worker *w, struct err *e)
{
	if (worker_open_eventfd(w, e) < 0)
		return -e->no;
	w->watch_fd = w->x.be->ops->thread_watch(w->x.cpu, e);
	if (w->watch_fd < 0)
		return w->watch_fd;
	worker_use_eventfd(w);
	return 0;
}

static int worker_open_thread(struct worker *w, const struct cmd_load *load, struct err *e)
{
	struct backend *be = w->x.be;
	struct thread_conf conf = {
		.inherit = load->inherit,
		.on_exec = load->on_exec,
		.process = load->process && load->inherit ? w->ec->ctx.target.pid : 0,
		.max_files = load->max_files,
		.takes_counters = budget_takes_counters(be, &w->ec->ctx),
	};
	int rc = be->ops->thread_open(be, &w->tid, &conf, &w->x.cpu, e);

	return rc < 0 || !(load->inherit || load->untraced) ? rc : worker_watch_thread(w, e);
}

static int worker_open(struct worker *w, const struct cmd_load *load, struct err *e)
{
	struct backend *be = w->x.be;

	return w->x.thread ? worker_open_thread(w, load, e)
			   : be->ops->cpu_open(be, w->cpu, &w->x.cpu, e);
}

static int worker_open_living(struct worker *w, struct cmd_load *load, struct err *e)
{
	int rc = load->end == LOAD_HAS_ENDED ? -ESRCH : worker_open(w, load, e);

	if (rc != -ESRCH || load->end == LOAD_LIVES)
		return rc;
	load->always_active = false;
	return 0;
}

static int worker_first_load(struct worker *w, struct job *job)
{
	int rc;

	w->ec = job->ec;
	rc = worker_open_living(w, &job->cmd.load, &job->err);
	if (rc == 0)
		rc = worker_attribute(w, &job->ec->ctx, &job->cmd, &job->err);
	if (rc == 0)
		rc = worker_exec(w, job->ec, &job->cmd, &job->err);
	if (rc < 0 || job->kind != JOB_FIRST_LOAD_AND_START)
		return rc;
	job->cmd.verb = CMD_START;
	return worker_exec(w, job->ec, &job->cmd, &job->err);
}

/* Called before the session thread learns that the context is unloaded: it may create another
 * worker for this CPU at once. */
static void worker_close_cpu(struct worker *w)
{
	budget_release(w->shared->budget, &w->reservation);
	worker_close_sampler(w);
	virtual_pmd_close(&w->x.virtuals);
	if (w->x.cpu)
		w->x.be->ops->cpu_close(w->x.cpu);
	w->x.cpu = NULL;
	w->thread_wake = (struct thread_wake){0};
	w->watch_fd = -1;
	w->watch_waits = false;
}

/* Starts the counters, if it can, and sends the job to the session thread, which calls done(). The
 * counters count what follows. */
static bool worker_run_last(struct worker *w, struct job *job)
{
	struct engine_ctx *ec = job->ec;
	int rc;

	job->rc = 0;
	rc = exec_last(&w->x, &job->err);
	if (__builtin_expect(rc < 0, 0)) {
		job->rc = rc;
		worker_last_failed(w, ec);
		return false;
	}
	/* engine_ctx_release() without its assertion, which the counters would count. */
	atomic_fetch_sub(&ec->inflight, 1);
	event_send(w->shared->events, &job->event);
	return true;
}

/* Asks whether the thread's registers still count. 0 as well if they are not open any more. */
static int worker_check_thread(struct worker *w, struct err *e)
{
	if (!w->x.cpu && w->ec->ctx.state != CTX_UNLOADED)
		return err_set(
			e, ESRCH, "the kernel has removed the context's events: load it again");
	return w->x.cpu ? w->x.be->ops->thread_check(w->x.cpu, e) : 0;
}

/* Executes @job, or requeues it. EXEC_LAST: worker_run_last() does the rest. */
static int worker_execute(struct worker *w, struct job *job)
{
	struct engine_ctx *ec = job->ec;

	/* First, as the counters count what precedes it. */
	if (command_freezes(job->cmd.verb)) {
		exec_freeze(&w->x, &ec->ctx);
		return worker_exec(w, ec, &job->cmd, &job->err);
	}
	if (job->kind == JOB_CHECK_THREAD)
		return worker_check_thread(w, &job->err);
	if (job_is_first_load(job))
		return worker_first_load(w, job);
	if (job->cmd.verb == CMD_LOAD && ec->ctx.state == CTX_UNLOADED) {
		job->requeued = true;
		atomic_store(&job->state, JOB_WAITING); /* It can still be cancelled. */
		return 0;
	}
	if (job->cmd.verb == CMD_START) /* a PMD with notify may be new since load */
		worker_attribute(w, &ec->ctx, &job->cmd, &job->err);
	return worker_exec(w, ec, &job->cmd, &job->err);
}

/* For the worker of a thread, which may have another number since the last command. */
static void worker_set_target(const struct worker *w, struct context *ctx)
{
	if (ctx->state != CTX_UNLOADED)
		ctx->target.tid = atomic_load(&w->tid);
}

static void worker_run_job(struct worker *w, struct job *job)
{
	struct engine_ctx *ec = job->ec;
	bool unloaded;

	job->rc = job_begin(job);
	/* A CPU's counters count what precedes a stop. */
	if (w->x.thread)
		worker_set_target(w, &ec->ctx);
	if (job->rc == 0)
		job->rc = worker_execute(w, job);
	if (job->rc == EXEC_LAST && worker_run_last(w, job))
		return;
	unloaded = !job_keeps_worker(job) && (ec->ctx.state == CTX_UNLOADED || ec->ctx.yielded);
	if (unloaded)
		worker_close_cpu(w);
	/* No request refers to the context, which may be gone after its EVENT_UNLOADED. */
	if (job->cmd.verb == CMD_RESUME) {
		job_finish(job, w->shared->events);
		engine_ctx_end_job(ec, w->shared->events, unloaded);
		return;
	}
	/* A requeued job is in flight until the session thread has it. */
	if (!job->requeued)
		engine_ctx_end_job(ec, w->shared->events, unloaded);
	job_finish(job, w->shared->events);
}

static void worker_exec_poll(struct worker *w, struct engine_ctx *ec)
{
	if (worker_exec(w, ec, &w->poll_cmd, &w->poll_err) == EXEC_LAST &&
		__builtin_expect(exec_last(&w->x, &w->poll_err) < 0, 0))
		worker_last_failed(w, ec);
}

/* For a thread: nothing is left uncounted between two sets. */
static void worker_exec_at_once(struct worker *w, struct engine_ctx *ec)
{
	const struct backend_ops *ops = w->x.be->ops;

	ops->thread_at_once(w->x.cpu, true);
	worker_exec_poll(w, ec);
	ops->thread_at_once(w->x.cpu, false);
}

/* Reads the counters, or switches the set. There is no requester to report an error to: it shows
 * in the counts that it loses. */
static void worker_poll(struct worker *w, bool switches)
{
	struct engine_ctx *ec = w->ec;

	/* The session thread has borrowed the context, or the inbox is not empty: retry soon. */
	if (!engine_ctx_borrow(ec)) {
		w->timed = true;
		w->until = nsec_timespec(nsec_now(CLOCK_MONOTONIC) + RETRY_NS);
		sample_tick_retry(&w->sample_tick, RETRY_NS);
		return;
	}
	if (switches)
		exec_freeze(&w->x, &ec->ctx);
	w->poll_cmd.verb = switches ? CMD_SWITCH : CMD_POLL;
	atomic_fetch_add_explicit(&w->shared->stats->polls, 1, memory_order_relaxed);
	if (w->x.thread && w->x.cpu)
		worker_exec_at_once(w, ec);
	else
		worker_exec_poll(w, ec);
	engine_ctx_end_job(ec, w->shared->events, false);
}

/* Makes room for more events. If another thread owns the context now, that thread does it. */
static void worker_take_events(struct worker *w)
{
	struct engine_ctx *ec = w->ec;
	pfm_smpl_where_t ignored;

	if (!engine_ctx_borrow(ec))
		return;
	sample_tick_read(&w->sample_tick, &ec->ctx, nsec_now(CLOCK_MONOTONIC), &ignored);
	worker_set_wake(w, &ec->ctx);
	engine_ctx_end_job(ec, w->shared->events, false);
}

/* How long the worker sleeps at most. False: until it is woken. */
static bool worker_interrupts_timeout(const struct worker *w, struct timespec *timeout)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC), until = nsec_of(w->until), left = UINT64_MAX;

	if (w->timed)
		left = until > now ? until - now : 0;
	if (w->interrupts && left > w->interrupts_delay)
		left = w->interrupts_delay;
	if (w->watch_waits && left > WATCH_AGAIN_NS)
		left = WATCH_AGAIN_NS;
	*timeout = nsec_timespec(left);
	return left != UINT64_MAX;
}

/* One thread of a process has ended, with all that it has created: watches the others, if any are
 * left. */
static void worker_watch_next(struct worker *w)
{
	struct err e;

	w->watch_fd = w->x.be->ops->thread_watch(w->x.cpu, &e);
	w->watch_waits = w->watch_fd < 0 && e.no != ESRCH;
	if (w->watch_fd < 0 && !w->watch_waits)
		event_send(w->shared->events, &w->gone_event.event);
}

/* Sleeps until an interrupt, an event of a process, an alarm, the end of the threads, a wake-up
 * or the time to read the counters. */
static void worker_sleep_interrupts(struct worker *w)
{
	const struct ip_sampler *sampler = w->sample_tick.ip_sampler;
	struct pollfd fds[] = {
		{.fd = w->eventfd, .events = POLLIN},
		{.fd = w->interrupts ? w->x.interrupts_fd : -1, .events = POLLIN},
		{.fd = sampler ? ip_sampler_fd(sampler) : -1, .events = POLLIN},
		{.fd = w->watch_fd},
		{.fd = thread_wake_fd(&w->thread_wake), .events = POLLIN},
	};
	struct timespec timeout;
	bool ends = worker_interrupts_timeout(w, &timeout);
	long n = raw_syscall6(SYS_ppoll, (long)fds, 5, (long)(ends ? &timeout : NULL), 0, 0, 0);
	uint64_t wakeups;

	if (n < 0)
		return;
	if (fds[0].revents)
		raw_syscall4(SYS_read, w->eventfd, (long)&wakeups, sizeof(wakeups), 0);
	if (fds[3].revents || w->watch_waits)
		worker_watch_next(w);
	if (fds[3].revents)
		return;
	if (fds[1].revents & (POLLERR | POLLHUP))
		w->x.interrupts_fd = -1;
	/* An alarm is reported once, and interrupts are taken with any command. */
	if (fds[4].revents)
		thread_wake_alarmed(&w->thread_wake, fds[4].revents);
	else if (fds[0].revents)
		return;
	if (!n || fds[1].revents || fds[4].revents)
		worker_poll(w, w->wake.switches);
	else
		worker_take_events(w);
}

/* The sleep of a worker whose context samples. */
static void worker_sleep_sampling(struct worker *w)
{
	if (w->interrupts || !w->sample_tick.ip_sampler) {
		worker_sleep_interrupts(w);
		return;
	}
	switch (sample_tick_sleep(&w->sample_tick)) {
	case WOKEN_TICK:
		worker_poll(w, w->wake.switches);
		break;
	case WOKEN_EVENTS:
		worker_take_events(w);
		break;
	case WOKEN_KICKED:
		break;
	}
}

/* Handles @flags. False if the worker must end. */
static bool worker_handle_flags(struct worker *w, unsigned flags)
{
	if (flags & WORKER_RETIRE)
		return false;
	if (flags & WORKER_READ_COUNTERS) {
		atomic_fetch_and(&w->flags, ~(unsigned)WORKER_READ_COUNTERS);
		worker_poll(w, false);
	} else {
		worker_sleep_sampling(w);
	}
	return true;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct job *job;

	worker_set_cpu(w);
	for (;;) {
		unsigned seen = atomic_load_explicit(&w->wakeups, memory_order_acquire);
		struct link *inbox = queue_take(&w->inbox);

		if (!inbox) {
			unsigned flags = atomic_load_explicit(&w->flags, memory_order_acquire);

			if (__builtin_expect(flags, 0)) {
				if (!worker_handle_flags(w, flags))
					break;
			} else if (worker_sleep(w, seen)) {
				worker_poll(w, w->wake.switches);
			}
		}
		queue_for_each (job, inbox, link)
			worker_run_job(w, job);
	}
	worker_close_cpu(w);
	event_send(w->shared->events, &w->exit_event);
	return NULL;
}

int worker_new(const struct worker_shared *shared, unsigned cpu, int tid, struct worker **out,
	struct err *e)
{
	CLEANUP_FREE struct worker *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return err_set(e, ENOMEM, "no memory for a worker");
	w->cpu = cpu;
	atomic_init(&w->tid, tid);
	w->x.thread = tid;
	w->x.be = shared->be;
	w->x.stats = &shared->stats->exec;
	w->shared = shared;
	w->reservation = (struct budget_reservation){.tid = tid ? &w->tid : NULL, .cpu = cpu};
	w->exit_event.kind = EVENT_WORKER_EXIT;
	w->eventfd = -1;
	w->watch_fd = -1;
	atomic_init(&w->wakeup_fd, -1);
	rc = thread_start(&w->thread, worker_main, w);
	if (rc)
		return err_set(e, rc, "cannot start a worker: %s (thread limit?)", err_name(rc));
	*out = take_ptr(&w);
	return 0;
}

void worker_set_tid(struct worker *w, int tid)
{
	atomic_store(&w->tid, tid);
}

void worker_set_gone(
	struct worker *w, void (*gone)(struct task_registry *reg, struct task_event *event))
{
	w->gone_event = (struct task_event){.event.kind = EVENT_TASK, .handle = gone};
}

struct engine_ctx *worker_gone_ctx(struct task_event *event)
{
	return container_of(event, struct worker, gone_event)->ec;
}

void worker_post(struct worker *w, struct job *job)
{
	queue_put(&w->inbox, &job->link);
	worker_send_wakeup(w);
}

void worker_retire(struct worker *w)
{
	atomic_fetch_or(&w->flags, WORKER_RETIRE);
	worker_send_wakeup(w);
}

void worker_free(struct worker *w)
{
	pthread_join(w->thread, NULL);
	cleanup_close(&w->eventfd);
	free(w);
}

void worker_kick(struct worker *w)
{
	atomic_fetch_or(&w->flags, WORKER_READ_COUNTERS);
	worker_send_wakeup(w);
}

uint64_t worker_next_wake(const struct worker *w)
{
	return atomic_load_explicit(&w->next_wake, memory_order_relaxed);
}

struct worker *worker_of_event(struct event *ev)
{
	return container_of(ev, struct worker, exit_event);
}

struct executor *worker_executor(struct worker *w)
{
	if (w->x.thread)
		worker_set_target(w, &w->ec->ctx);
	return &w->x;
}

unsigned worker_cpu(const struct worker *w)
{
	return w->cpu;
}
