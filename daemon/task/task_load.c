// SPDX-License-Identifier: MIT
/*
 * Loading a context on a thread (specification 3.1.7), on a fiber: load_on_thread() has the steps.
 * A load finds the thread and checks the
 * caller's rights. The ctxsw thread of each of its CPUs prepares what the PMCs require. Then the
 * load follows the thread and checks the rights again, as the thread may have executed a program
 * meanwhile. The checks run on the workqueue, as they read /proc.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/fiber/fiber.h"
#include "daemon/percpu/thread.h"
#include "daemon/task/task_registry_i.h"

/* Most event sets in a non-root user's context: a ctxsw thread calibrates all of them at once. */
enum { LOAD_SETS_MAX = 256 };

/* The load was answered, or is to be submitted again: its job is no longer the registry's. */
enum { LOAD_LEFT = 1 };

/* A load. It lies on the stack of its fiber. */
struct load {
	struct task_registry *reg;
	struct job *job;
	struct task_ctx *task; /* the context's; NULL: none yet, or not any more */
	/* What a function that fiber_outside() calls returns; at the end, the outcome or LOAD_LEFT.
	 */
	int rc;
	bool admitted;
	unsigned uid;                /* the context's, as the context may be gone at the end */
	struct requester *requester; /* a reference */
	struct target target;
	bool active;                  /* see task_load_is_active() */
	struct cpus cpus;             /* CPUs that get ctxsw threads */
	struct cpus cpumask, covered; /* see load_find_cpus() */
	struct task_joining joining;  /* for the other threads of the process */

	/* What it waits for, one after another. */
	struct fiber_wait wait;
	struct work work;
	int checked; /* result of work; the error is in job->err */
	struct ctxsw_prepare_req prepare;
	struct tracer_attach attach;
	struct task_event attached; /* the tracer has finished the attach */
	struct job own;             /* for a worker: the load and, if it fails later, its undoing */
};

struct load_args {
	struct task_registry *reg;
	struct job *job;
};

/* Waits for what the load has just begun, and which ends in fiber_wake(). */
static void load_wait(struct load *l)
{
	fiber_wait(&l->wait);
	l->wait = (struct fiber_wait){0};
}

static bool load_is_traced(const struct cmd_load *load)
{
	return !load->untraced && !load->inherit;
}

static int load_init_tracer(struct task_registry *reg, struct err *e)
{
	return reg->shared.tracer ? 0 : tracer_new(&task_tracer_ops, reg, &reg->shared.tracer, e);
}

/* libbpf, which loads the program, may need more than a fiber's stack. */
static void load_init_ctxsw(void *arg)
{
	struct load *l = arg;
	struct ctxsw_shared *shared = &l->reg->shared;
	struct err *e = &l->job->err;

	l->rc = 0;
	if (!shared->slots)
		shared->slots = calloc(SCHED_SLOTS, sizeof(*shared->slots));
	if (!shared->slots)
		l->rc = err_set(e, ENOMEM, "no memory");
	else if (!shared->sched)
		l->rc = sched_open(&shared->sched, e);
}

/*
 * Finds three sets of CPUs. @cpumask: the listed CPUs, or all that exist, as the thread's affinity
 * may change. @covered: those in @cpumask that are online. @cpus: those that get ctxsw threads.
 * These are the CPUs in @covered or, if the thread is not traced, all that are online, as then only
 * a ctxsw thread reports its end.
 */
static int load_find_cpus(struct load *l, struct err *e)
{
	const struct command *cmd = &l->job->cmd;
	struct backend *be = l->reg->shared.be;
	unsigned limit = be->ops->cpu_limit(be);
	bool any = false;

	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		bool listed = !cmd->load.cpus || cpus_has(cmd->load.cpus, cpu);

		if (cpu >= limit && cmd->load.cpus && listed)
			return err_set(e, EINVAL, "there is no CPU %u: see cpus", cpu);
		if (cpu >= limit)
			continue;
		if (listed)
			cpus_add(&l->cpumask, cpu);
		if ((!listed && !cmd->load.untraced) || !be->ops->cpu_online(be, cpu))
			continue;
		cpus_add(&l->cpus, cpu);
		if (!listed)
			continue;
		cpus_add(&l->covered, cpu);
		any = true;
	}
	return any ? 0 : err_set(e, ENXIO, "none of these CPUs is online: see cpus");
}

static int load_check_process(const struct target *t, const struct command *cmd, struct err *e)
{
	if (cmd->load.process && t->tid != t->tgid && !t->first_ended)
		return err_set(e, EINVAL,
			"%d is a thread of process %d: write pid=%d, or tid=%d for this thread "
			"alone",
			t->named, t->tgid, t->tgid, t->named);
	return 0;
}

static int load_check_blocking(const struct load *l, struct err *e)
{
	if ((l->job->ec->ctx.flags & CTX_NOTIFY_BLOCK) && l->target.tid == l->job->pid)
		return err_set(e, EINVAL,
			"notify_block would block this thread, which has to write restart: clear "
			"it, or load from another thread");
	return 0;
}

/* EPERM: the owner of the context would see memory of a thread that another user may trace. */
static int load_check_stacks(const struct load *l, struct err *e)
{
	unsigned uid = l->requester->cred.uid;

	if (!l->job->ec->ctx.smpl.user_stack || !l->uid || l->uid == uid)
		return 0;
	return err_set(e, EPERM,
		"user_stack: the context is of uid %u, which would see memory of the thread that "
		"you may trace as uid %u: make a context of your own",
		l->uid, uid);
}

static int load_check_sets(const struct engine_ctx *ec, struct err *e)
{
	if (ec->uid && ec->ctx.nsets > LOAD_SETS_MAX)
		return err_set(e, E2BIG,
			"the context has %u event sets, and only root may have more than %d on a "
			"thread: remove some, or load on a CPU",
			ec->ctx.nsets, LOAD_SETS_MAX);
	return 0;
}

static int load_check_loaded(
	struct task_registry *reg, pid_t tid, struct command *cmd, struct err *e)
{
	struct task_ctx *task = task_ctx_find_same(reg, tid);

	/* The load waits for the end of a context that is being destroyed. */
	if (!task || task->ec->destroying)
		return 0;
	cmd->load.taken = true;
	return err_set(e, EBUSY, "thread %d is monitored already by context '%s' of uid %u", tid,
		task->ec->name, task->ec->uid);
}

/* --- Waits */

static void load_worked(struct work *w)
{
	fiber_wake(&container_of(w, struct load, work)->wait);
}

/* The work may be done by the thread that submits it, when the daemon ends. */
static void load_submit_work(void *arg)
{
	struct load *l = arg;

	l->rc = l->reg->ops->work(l->reg->arg, &l->work, &l->job->err);
}

/* Has a thread of the workqueue call @run. Returns l->checked, or an error. */
static int load_wait_for_work(struct load *l, void (*run)(struct work *w))
{
	struct err *e = &l->job->err;

	l->work = (struct work){.uid = l->uid, .run = run, .done = load_worked};
	fiber_outside(load_submit_work, l);
	if (l->rc < 0)
		return l->rc;
	load_wait(l);
	return l->work.ended ? err_set(e, ENODEV, "the daemon is shutting down") : l->checked;
}

/* EPERM: a server that writes files on behalf of users must not lend them its own permissions. */
static int load_check_writer(
	const struct cmd_load *load, const struct credentials *c, struct err *e)
{
	if (!load->checks_fsuid || c->uid == load->fsuid)
		return 0;
	return err_set(e, EPERM,
		"your uid is %u, but you write as uid %u: write as uid %u to load on a thread",
		(unsigned)c->uid, load->fsuid, (unsigned)c->uid);
}

/* Runs in a thread of the workqueue. */
static void load_find_target(struct work *w)
{
	struct load *l = container_of(w, struct load, work);
	struct job *job = l->job;
	struct err *e = &job->err;
	int rc = (job->cmd.load.process ? target_open_process : target_open)(
		job->pid, job->cmd.tid, &l->target, e);

	if (rc == 0)
		rc = requester_new(&l->requester, job, e);
	if (rc == 0)
		rc = load_check_writer(&job->cmd.load, &l->requester->cred, e);
	if (rc == 0)
		rc = target_check(&l->target, &l->requester->cred, e);
	l->checked = rc;
}

/* Runs in a thread of the workqueue. */
static void load_check_target(struct work *w)
{
	struct load *l = container_of(w, struct load, work);
	struct err *e = &l->job->err;

	l->checked = target_alive(&l->target, e);
	if (l->checked == 0)
		l->checked = target_check_again(&l->target, &l->requester->cred, e);
}

/* Checks a thread that is followed or open by now. Before that, it may have ended and its id been
 * reused, or it may have executed a program that the caller may not trace. EINTR: the caller was
 * interrupted. */
static int load_check_again(struct load *l)
{
	int rc = load_wait_for_work(l, load_check_target);

	return rc < 0 ? rc : job_begin(l->job);
}

static void load_prepared(struct task_registry *reg, struct task_event *event)
{
	struct ctxsw_prepare_req *req = container_of(event, struct ctxsw_prepare_req, event);

	(void)reg;
	fiber_wake(&container_of(req, struct load, prepare)->wait);
}

/* The CPUs are prepared one after another. */
static int load_prepare_cpus(struct load *l)
{
	struct task_ctx *task = l->task;
	struct ctxsw_prepare_req *req = &l->prepare;

	req->event.event.kind = EVENT_TASK;
	req->event.handle = load_prepared;
	for (unsigned cpu = task_first_cpu(&l->cpus); cpu < CPUS_MAX; cpu++) {
		if (!cpus_has(&l->cpus, cpu))
			continue;
		req->task = cpus_has(&task->covered, cpu) ? task : NULL;
		ctxsw_post_prepare(atomic_load(&l->reg->shared.ctxsw_threads[cpu]), req);
		load_wait(l);
		if (req->rc < 0 && req->task)
			return err_copy(&l->job->err, &req->err);
	}
	return 0;
}

/* Runs in the tracer's thread. */
static void load_attached(struct tracer_attach *attach)
{
	struct load *l = container_of(attach, struct load, attach);

	event_send(l->reg->shared.events, &l->attached.event);
}

static void load_handle_attached(struct task_registry *reg, struct task_event *event)
{
	struct load *l = container_of(event, struct load, attached);

	(void)reg;
	if (atomic_load(&l->attach.unhandled))
		l->joining.attached = event; /* It is sent again. */
	else
		fiber_wake(&l->wait);
}

/* The thread has stayed attached. Other loads may wait for that. */
static void load_end_detaching(void *arg)
{
	struct load *l = arg;
	struct detaching *d = task_detaching(l->reg, l->target.tid);

	if (d)
		task_detached(l->reg, d);
}

/* Attaches the tracer. The outcome is that of load_check_threads(). */
static void load_attach(struct load *l)
{
	struct tracer_attach *attach = &l->attach;
	struct task_ctx *task = l->task;

	l->attached.event.kind = EVENT_TASK;
	l->attached.handle = load_handle_attached;
	attach->tid = l->target.tid;
	attach->tgid = l->target.tgid;
	attach->by_itself = l->target.tid == l->job->pid;
	attach->uid = task->requester->cred.uid;
	attach->follow = task->follow;
	attach->process = task->process;
	attach->done = load_attached;
	task->joining = &l->joining;
	tracer_seize(l->reg->shared.tracer, attach);
	load_wait(l);
	task->traced = attach->attached;
	if (attach->kept)
		fiber_outside(load_end_detaching, l);
}

static void load_executed(struct job *own)
{
	fiber_wake(&container_of(own, struct load, own)->wait);
}

/* Has the context's worker execute l->own. */
static int load_wait_for_worker(struct load *l)
{
	struct engine_ctx *ec = l->job->ec;

	l->own.event.kind = EVENT_JOB;
	l->own.ec = ec;
	l->own.session_done = true;
	l->own.done = load_executed;
	atomic_store(&l->own.state, JOB_WAITING);
	task_post(l->reg, ec->task, &l->own);
	load_wait(l);
	return l->own.rc;
}

/* --- The steps of a load */

/* EAGAIN: the tracer cannot attach to the thread now. */
static int load_check_attachable(const struct load *l, struct err *e)
{
	const struct target *t = &l->target;
	const struct detaching *d = task_detaching(l->reg, t->tid);

	if (d && d->late && t->tid != l->job->pid)
		return task_refuse_late(t->tid, e);
	return tracer_check_given_up(l->reg->shared.tracer, t->tgid, t->tid, e);
}

static int load_check_ctxsw(struct load *l, struct err *e)
{
	struct command *cmd = &l->job->cmd;
	int rc = load_find_cpus(l, e);

	cmd->load.pmu = task_cpus_pmu(l->reg->shared.be, &l->cpumask);
	if (rc == 0)
		rc = core_load_check(&l->job->ec->ctx, cmd, e);
	if (rc == 0)
		rc = task_check_taken(l->reg, l->target.tid, &l->covered, e);
	if (rc < 0)
		return rc;
	fiber_outside(load_init_ctxsw, l);
	return l->rc;
}

static int load_check_request(struct load *l, struct err *e)
{
	struct task_registry *reg = l->reg;
	struct job *job = l->job;
	int rc = load_check_process(&l->target, &job->cmd, e);

	if (rc == 0)
		rc = load_check_sets(job->ec, e);
	if (rc == 0)
		rc = task_check_inherit(reg, job, e);
	if (rc == 0)
		rc = task_check_sampling(reg, job, e);
	if (rc == 0)
		rc = load_check_stacks(l, e);
	if (rc == 0)
		rc = load_check_blocking(l, e);
	if (rc == 0)
		rc = load_check_loaded(reg, l->target.tid, &job->cmd, e);
	if (rc == 0)
		rc = l->active ? core_load_check(&job->ec->ctx, &job->cmd, e)
			       : load_check_ctxsw(l, e);
	if (rc == 0 && (!l->active || load_is_traced(&job->cmd.load)))
		rc = load_init_tracer(reg, e);
	if (rc == 0 && load_is_traced(&job->cmd.load))
		rc = load_check_attachable(l, e);
	return rc;
}

/* The loads that wait until the thread is free: another context leaves it, or the tracer detaches
 * it; NULL: it is free. For a thread that loads itself, waiting for the tracer would be in vain:
 * see tracer_attach.by_itself. */
static struct queue *load_find_busy(struct load *l)
{
	struct task_ctx *loaded = task_ctx_find(l->reg, l->target.tid);
	struct detaching *d;

	if (loaded)
		return &loaded->waiting_loads;
	d = load_is_traced(&l->job->cmd.load) ? task_detaching(l->reg, l->target.tid) : NULL;
	if (!d || l->target.tid != l->job->pid)
		return d ? &d->waiting_loads : NULL;
	l->job->stopping = true;
	return NULL;
}

static int load_make_task(struct load *l, struct err *e)
{
	struct job *job = l->job;
	const struct cmd_load *load = &job->cmd.load;
	struct task_ctx *task;
	int rc = (l->active ? task_ctx_new_active : task_ctx_new)(
		l->reg, job->ec, l->target.tid, &task, e);

	if (rc < 0)
		return rc;
	task->requester = l->requester;
	task->requester->refs++;
	task->cpumask = l->cpumask;
	task->has_cpumask = load->cpus;
	task->covered = l->covered;
	task->tgid = l->target.tgid;
	task->process = load->process && !load->inherit;
	task->follow = load->follow;
	task->inherit = load->inherit;
	task->began = load_is_traced(load) ? 0 : l->target.began;
	task->check_exec = load->untraced && !credentials_trace_all(&l->requester->cred);
	task->loading = true;
	job->cmd.tid = load->process ? l->target.tgid : l->target.tid;
	l->task = task;
	return 0;
}

/* ESRCH: the thread has vanished, as another followed thread of its process has executed a program.
 */
static int load_check_id(const struct task_ctx *task, struct err *e)
{
	return task->tid ? 0
			 : err_set(e, ESRCH,
				   "the thread has ended, as its process has executed a program: "
				   "load again");
}

/* 0: the threads are attached, and all others of the process have contexts. */
static int load_check_threads(const struct load *l, struct err *e)
{
	if (!l->joining.err.no && l->attach.rc == 0)
		return load_check_id(l->task, e);
	return err_copy(e, l->joining.err.no ? &l->joining.err : &l->attach.err);
}

/* Adds a note if the load counts one thread of several: the id of a process is that of its first
 * thread. */
static void load_note_threads(struct load *l)
{
	const struct cmd_load *load = &l->job->cmd.load;
	unsigned n = target_threads(&l->target);

	if (!load->process && l->target.tid == l->target.tgid && n > 1)
		err_set(&l->job->cmd.note, 0,
			"thread %d %s counted, not the other %u threads of its process: load "
			"pid=%d%s counts all of them",
			l->target.named,
			load->inherit ? "and what it creates after start are" : "alone is", n - 1,
			l->target.named, load->inherit ? " follow" : "");
}

/* The command keeps the id of the process, which ctl shows. */
static int load_core(struct load *l)
{
	struct job *job = l->job;
	pid_t shown = job->cmd.tid;
	int rc;

	job->ec->ctx.target.pid = l->target.tgid;
	job->cmd.tid = l->target.tid;
	rc = task_ctx_load(l->reg, l->task, &job->cmd, NULL, &job->err);
	job->cmd.tid = shown;
	return rc;
}

/* Has ctxsw threads count the thread. */
static int load_by_ctxsw(struct load *l)
{
	struct task_ctx *task = l->task;
	int rc = task_ctx_follow(l->reg, task, &l->job->err);

	if (rc < 0)
		return rc;
	rc = load_check_again(l);
	if (rc == 0)
		rc = load_core(l);
	else
		sched_forget(l->reg->shared.sched, task->slot);
	if (rc < 0)
		return rc;
	load_note_threads(l);
	task_ctx_kick(l->reg, task);
	return 0;
}

/* Has a worker count the thread. If the worker's load fails, it gives the context back; later, it
 * has to unload it. */
static int load_by_worker(struct load *l)
{
	struct engine_ctx *ec = l->job->ec;
	int rc;

	l->own.cmd = l->job->cmd;
	l->own.cmd.tid = l->target.tid;
	l->own.cmd.load.always_active = true;
	l->own.kind = JOB_FIRST_LOAD;
	ec->ctx.target.pid = l->target.tgid;
	rc = load_wait_for_worker(l);
	if (rc < 0) {
		l->task = NULL;
		return err_copy(&l->job->err, &l->own.err);
	}
	/* The thread is open, and can no longer be mistaken for another one. */
	rc = load_check_again(l);
	if (rc == 0) {
		load_note_threads(l);
		return 0;
	}
	l->own.cmd = (struct command){.verb = CMD_UNLOAD};
	l->own.kind = JOB_COMMAND;
	load_wait_for_worker(l);
	l->task = NULL;
	return rc;
}

static void load_destroy_children(void *arg)
{
	struct load *l = arg;

	task_destroy_children(l->reg, l->job->ec);
}

/* What follows once the context has a task_ctx. */
static int load_task(struct load *l)
{
	struct task_registry *reg = l->reg;
	struct err *e = &l->job->err;
	int rc = 0;

	if (!l->task->worker) {
		rc = task_start_ctxsw(reg, &l->cpus, e);
		if (rc == 0)
			rc = load_prepare_cpus(l);
	}
	if (rc == 0 && load_is_traced(&l->job->cmd.load))
		load_attach(l);
	if (rc == 0)
		rc = load_check_threads(l, e);
	if (rc == 0)
		rc = l->task->worker ? load_by_worker(l) : load_by_ctxsw(l);
	if (rc == 0)
		return 0;
	/* After an exec, the thread may have the id of its process by now. */
	if (l->task && l->task->traced)
		task_detach(reg, l->task->tid ? l->task->tid : l->target.tid);
	fiber_outside(load_destroy_children, l);
	return rc;
}

static void load_admit(void *arg)
{
	struct load *l = arg;

	l->admitted = l->reg->ops->admit(l->reg->arg, l->job);
}

/* A load, from its lookup on. Returns the outcome, or LOAD_LEFT. */
static int load_on_thread(struct load *l)
{
	struct task_registry *reg = l->reg;
	struct job *job = l->job;
	struct err *e = &job->err;
	struct queue *busy;
	int rc = load_wait_for_work(l, load_find_target);

	if (rc < 0)
		return rc;
	/* The context may have been loaded or removed meanwhile. */
	fiber_outside(load_admit, l);
	if (!l->admitted)
		return LOAD_LEFT;
	task_measure(job, &l->target);
	l->active = task_load_is_active(reg, job);
	rc = l->active ? 0 : reg->ops->make_way(reg->arg, job, e);
	if (rc)
		return rc < 0 ? rc : LOAD_LEFT;
	rc = load_check_request(l, e);
	if (rc < 0)
		return rc;
	busy = load_find_busy(l);
	if (busy) {
		/* The load is submitted again, from the start, when the thread is free. */
		queue_put(busy, &job->link);
		return LOAD_LEFT;
	}
	rc = load_make_task(l, e);
	return rc < 0 ? rc : load_task(l);
}

/* Lets the user's next load begin, and answers. Drops the requester's descriptors, as a loaded
 * context holds none. */
static void load_end(void *arg)
{
	struct load *l = arg;
	struct job *job = l->job;

	if (l->task)
		l->task->joining = NULL;
	load_queue_next(l->reg, l->uid);
	if (l->requester)
		credentials_drop(&l->requester->cred);
	requester_unref(l->requester);
	target_close(&l->target);
	if (l->rc == LOAD_LEFT)
		return;
	job->rc = l->rc;
	job->done(job);
	if (l->task)
		task_ctx_loaded(l->reg, l->task, l->rc);
}

/* @arg is not valid any more when the load has waited. */
static void load_main(void *arg)
{
	const struct load_args *args = arg;
	struct load l = {
		.reg = args->reg,
		.job = args->job,
		.uid = args->job->ec->uid,
		.target.dir = -1,
	};

	l.rc = load_on_thread(&l);
	fiber_outside(load_end, &l);
}

static int load_start(struct task_registry *reg, struct job *job, struct err *e)
{
	struct load_args args = {reg, job};

	return fiber_start(load_main, &args, e);
}

int task_load(struct task_registry *reg, struct job *job)
{
	int rc = load_queue_enter(reg, job, load_start, &job->err);

	assert_session_thread();
	if (rc < 0)
		job->rc = rc;
	return rc;
}
