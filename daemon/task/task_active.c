// SPDX-License-Identifier: MIT
/* Decides which contexts on threads have registers of their own, and therefore a worker. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/open_files.h"
#include "daemon/authz/proc.h"
#include "daemon/task/task_registry_i.h"

/* Limits on workers. Contexts beyond them get none, so that threads and descriptors of the daemon
 * remain for other users. */
enum {
	WORKERS_MAX = 2048,
	/* Descriptors of a worker, for events and virtual PMDs. */
	WORKER_FILES = 32,
	/* 1/RESERVED_PART of all workers is reserved for root, and each other user may have
	 * 1/USER_PART. */
	RESERVED_PART = 16,
	USER_PART = 8,
};

/* The limit for all users except root. With so many workers, they have half of the descriptors. */
static unsigned active_workers_max(void)
{
	rlim_t n = open_files_max() / 2 / WORKER_FILES;

	return n < WORKERS_MAX ? (unsigned)n : WORKERS_MAX;
}

static bool active_may_have_workers(
	const struct task_registry *reg, const struct engine_ctx *ec, unsigned n)
{
	unsigned all = reg->workers + n, max;

	if (!ec->uid)
		return all <= WORKERS_MAX;
	max = active_workers_max();
	return all + max / RESERVED_PART <= max && *ec->user_workers + n <= max / USER_PART;
}

static bool active_may_load(const struct task_registry *reg, const struct job *job)
{
	const struct cmd_load *load = &job->cmd.load;
	bool each = load->process && !load->inherit && load->threads > job->ec->workers;

	return active_may_have_workers(reg, job->ec, each ? load->threads : job->ec->workers);
}

void task_measure(struct job *job, const struct target *target)
{
	struct cmd_load *load = &job->cmd.load;
	unsigned files = 0;

	load->threads = load->process ? target_threads(target) : 1;
	if (load->inherit && load->process)
		files = load->threads * (ctx_counters(&job->ec->ctx) + 2);
	/* A quarter more, for threads that are created before start. */
	job->ec->workers = 1 + (files + files / 4) / WORKER_FILES;
	load->max_files = job->ec->workers * WORKER_FILES;
}

bool task_load_is_active(const struct task_registry *reg, const struct job *job)
{
	const struct cmd_load *load = &job->cmd.load;
	const struct context *ctx = &job->ec->ctx;

	return reg->shared.be->opens_threads && !load->cpus && active_may_load(reg, job) &&
	       (ctx_only_counts(ctx) || (reg->shared.be->interrupts && ctx_only_interrupts(ctx)));
}

int task_check_sampling(const struct task_registry *reg, const struct job *job, struct err *e)
{
	const struct sampling *s = &job->ec->ctx.smpl;

	if (!(s->user_stack || s->waits) || task_load_is_active(reg, job))
		return 0;
	return err_set(e, EOPNOTSUPP,
		"%s needs a counter that interrupts: before load, write a PMC and the "
		"period of its PMD (-PERIOD short=-PERIOD), and leave out cpus=, virtual PMDs and "
		"set switching; or unload some contexts on threads",
		s->waits ? "waits" : "user_stack");
}

int task_check_inherit(const struct task_registry *reg, const struct job *job, struct err *e)
{
	const struct context *ctx = &job->ec->ctx;

	if (!job->cmd.load.inherit)
		return 0;
	if (!reg->shared.be->opens_threads)
		return err_set(e, EOPNOTSUPP,
			"inherit needs counters that the kernel switches with the thread, which "
			"only perfmonfs --backend=perf has: write follow instead");
	if (ctx->nsets > 1)
		return err_set(e, EINVAL,
			"inherit counts in one event set only: remove the others, or write follow");
	if (!ctx_only_counts(ctx) || ctx_switches_by_time(ctx))
		return err_set(e, EINVAL,
			"inherit only counts: leave out the sampling format, notify, flags and set "
			"switching, or write follow");
	if (!active_may_load(reg, job))
		return err_set(e, ENOSPC,
			"inherit needs a worker and descriptors for each thread, and your share of "
			"them is used up: unload some contexts on threads, or write follow");
	return 0;
}

/* False: the thread has ended or is about to end. */
static bool active_is_alive(pid_t tid)
{
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(tid, &ignored);

	return dir >= 0 && proc_alive(dir, &ignored) == 0;
}

static void active_report_exec(const struct task_ctx *task)
{
	struct err e;

	err_set(&e, EPERM,
		"an exec ended the counting of thread %d: the program gains privileges, its user "
		"may not read it, or a thread that is not counted executed it; write %s",
		task->tid, task->inherit ? "follow instead of inherit" : "cpus with ptrace=no");
	task->ec->ops->report_error(task->ec, &e);
}

static void active_handle_gone(struct task_registry *reg, struct task_event *event)
{
	struct task_ctx *task = worker_gone_ctx(event)->task;

	if (!task)
		return;
	if (active_is_alive(task->tid))
		active_report_exec(task);
	task_ctx_end(reg, task);
}

static int active_new_worker(struct task_registry *reg, struct engine_ctx *ec, pid_t tid,
	struct worker **out, struct err *e)
{
	int rc = task_charge_worker(reg, ec, e);

	if (rc < 0)
		return rc;
	rc = worker_new(reg->shared.workers, 0, tid, out, e);
	if (rc < 0)
		task_uncharge_worker(reg, ec);
	return rc;
}

int task_ctx_new_active(struct task_registry *reg, struct engine_ctx *ec, pid_t tid,
	struct task_ctx **out, struct err *e)
{
	struct ctxsw_shared *shared = &reg->shared;
	struct worker *worker;
	int rc = active_new_worker(reg, ec, tid, &worker, e);

	if (rc < 0)
		return rc;
	worker_set_gone(worker, active_handle_gone);
	shared->stats->workers++;
	rc = task_ctx_add(reg, ec, tid, out, e);
	if (rc < 0) {
		reg->ops->retire(reg->arg, worker);
		task_uncharge_worker(reg, ec);
		return rc;
	}
	(*out)->worker = worker;
	return 0;
}

int task_ctx_new_like(struct task_registry *reg, struct engine_ctx *ec, pid_t tid,
	const struct task_ctx *from, struct task_ctx **out, struct err *e)
{
	if (!from->worker)
		return task_ctx_new(reg, ec, tid, out, e);
	ec->workers = 1;
	if (!active_may_have_workers(reg, ec, ec->workers))
		return err_set(e, ENOSPC,
			"each thread needs a worker, and your share of them is used up: unload "
			"some contexts on threads, or load with cpus, so that ctxsw threads count "
			"any number of threads");
	return task_ctx_new_active(reg, ec, tid, out, e);
}

void task_post_load(struct task_registry *reg, struct task_ctx *task, enum job_kind kind,
	enum load_end end, struct job *own, void (*done)(struct job *own))
{
	task->traced = true;
	task->ec->ctx.target.pid = task->tgid;
	*own = (struct job){
		.event.kind = EVENT_JOB,
		.ec = task->ec,
		.cmd = {.verb = CMD_LOAD,
			.rights = task->requester->rights,
			.limits = task->requester->limits,
			.tid = task->tid,
			.load = {.always_active = true, .end = end}},
		.kind = kind,
		.session_done = true,
		.done = done,
	};
	task_post(reg, task, own);
}
