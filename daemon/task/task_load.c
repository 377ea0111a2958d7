// SPDX-License-Identifier: MIT
/*
 * Loading a context on a thread (specification 3.1.7). A load finds the thread and checks the
 * caller's rights. The ctxsw thread of each of its CPUs prepares what the PMCs require. Then the
 * load follows the thread and checks the rights again, as the thread may have executed a program
 * meanwhile. The checks run on the workqueue, as they read /proc.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/open_files.h"
#include "daemon/task/task_registry_i.h"

/* Most event sets in a non-root user's context: a ctxsw thread calibrates all of them at once. */
enum { LOAD_SETS_MAX = 256 };

/* One asynchronous load: CPUs are prepared one after another. */
struct task_load_op {
	struct task_registry *reg;
	struct ctxsw_prepare_req prepare;
	struct tracer_attach attach;
	struct task_event attached; /* the tracer has finished the attach */
	struct job *job;
	struct work work;            /* finds the target; later, checks it again */
	int checked;                 /* result of work; the error is in job->err */
	struct requester *requester; /* a reference */
	struct target target;
	struct task_joining joining; /* for the other threads of the process */
	struct cpus cpus;            /* CPUs that get ctxsw threads */
	unsigned cpu;                /* the CPU that is being prepared */
	bool active;                 /* see task_load_is_active() */
	unsigned uid;                /* the context's, as the context may be gone at the end */
	struct job own; /* for a worker: the load and, if it fails later, its undoing */
};

/* Drops the requester's descriptors, as a loaded context holds none. */
static void load_free(struct task_load_op *op)
{
	if (op->requester)
		credentials_drop(&op->requester->cred);
	requester_unref(op->requester);
	target_close(&op->target);
	free(op);
}

static bool load_is_traced(const struct cmd_load *load)
{
	return !load->untraced && !load->inherit;
}

static int load_init_tracer(struct task_registry *reg, struct err *e)
{
	return reg->shared.tracer ? 0 : tracer_new(&task_tracer_ops, reg, &reg->shared.tracer, e);
}

static int load_init_ctxsw(struct task_registry *reg, struct err *e)
{
	int rc = 0;

	if (!reg->shared.slots)
		reg->shared.slots = calloc(SCHED_SLOTS, sizeof(*reg->shared.slots));
	if (!reg->shared.slots)
		return err_set(e, ENOMEM, "no memory");
	if (!reg->shared.sched)
		rc = sched_open(&reg->shared.sched, e);
	return rc;
}

/*
 * Finds three sets of CPUs. @cpumask: the listed CPUs, or all that exist, as the thread's affinity
 * may change. @covered: those in @cpumask that are online. @cpus: those that get ctxsw threads.
 * These are the CPUs in @covered or, if the thread is not traced, all that are online, as then only
 * a ctxsw thread reports its end.
 */
static int load_find_cpus(struct task_registry *reg, const struct command *cmd,
	struct cpus *cpumask, struct cpus *covered, struct cpus *cpus, struct err *e)
{
	struct backend *be = reg->shared.be;
	unsigned limit = be->ops->cpu_limit(be);
	bool any = false;

	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		bool listed = !cmd->load.cpus || cpus_has(cmd->load.cpus, cpu);

		if (cpu >= limit && cmd->load.cpus && listed)
			return err_set(e, EINVAL, "there is no CPU %u: see cpus", cpu);
		if (cpu >= limit)
			continue;
		if (listed)
			cpus_add(cpumask, cpu);
		if ((!listed && !cmd->load.untraced) || !be->ops->cpu_online(be, cpu))
			continue;
		cpus_add(cpus, cpu);
		if (!listed)
			continue;
		cpus_add(covered, cpu);
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

static int load_check_blocking(
	const struct context *ctx, const struct task_load_op *op, pid_t caller, struct err *e)
{
	if ((ctx->flags & CTX_NOTIFY_BLOCK) && op->target.tid == caller)
		return err_set(e, EINVAL,
			"notify_block would block this thread, which has to write restart: clear "
			"it, or load from another thread");
	return 0;
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

/* Answers the load. The caller ends its task_ctx, if there is one. */
static void load_answer(struct task_registry *reg, struct task_load_op *op, int rc)
{
	struct job *job = op->job;

	load_queue_next(reg, op->uid);
	load_free(op);
	job->rc = rc;
	job->done(job);
}

static void load_finish(struct task_registry *reg, struct task_load_op *op, int rc)
{
	struct task_ctx *task = op->job->ec->task;

	task->joining = NULL;
	load_answer(reg, op, rc);
	task_ctx_loaded(reg, task, rc);
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

/* Runs in a thread of the workqueue. */
static void load_check_target(struct work *w)
{
	struct task_load_op *op = container_of(w, struct task_load_op, work);
	struct err *e = &op->job->err;

	op->checked = target_alive(&op->target, e);
	if (op->checked == 0)
		op->checked = target_check_again(&op->target, &op->requester->cred, e);
}

static int load_start_work(struct task_load_op *op, void (*run)(struct work *w),
	void (*done)(struct work *w), struct err *e)
{
	op->work = (struct work){.uid = op->uid, .run = run, .done = done};
	return op->reg->ops->work(op->reg->arg, &op->work, e);
}

/* Checks a thread that is followed or open by now. Before that, it may have ended and its id been
 * reused, or it may have executed a program that the caller may not trace. @done ends the check. */
static int load_begin_check(struct task_load_op *op, void (*done)(struct work *w))
{
	return load_start_work(op, load_check_target, done, &op->job->err);
}

static int load_end_check(struct task_load_op *op)
{
	struct err *e = &op->job->err;

	if (op->work.ended)
		return err_set(e, ENODEV, "the daemon is shutting down");
	return op->checked < 0 ? op->checked : job_begin(op->job);
}

/* The command keeps the id of the process, which ctl shows. */
static int load_core(struct task_registry *reg, struct task_load_op *op, struct task_ctx *task)
{
	struct job *job = op->job;
	pid_t shown = job->cmd.tid;
	int rc;

	job->cmd.tid = op->target.tid;
	rc = task_ctx_load(reg, task, &job->cmd, NULL, &job->err);
	job->cmd.tid = shown;
	return rc;
}

/* Adds a note if the load counts one thread of several: the id of a process is that of its first
 * thread. */
static void load_note_threads(struct task_load_op *op)
{
	unsigned n = target_threads(&op->target);

	const struct cmd_load *load = &op->job->cmd.load;

	if (!load->process && op->target.tid == op->target.tgid && n > 1)
		err_set(&op->job->cmd.note, 0,
			"thread %d %s counted, not the other %u threads of its process: load "
			"pid=%d%s counts all of them",
			op->target.named,
			load->inherit ? "and what it creates after start are" : "alone is", n - 1,
			op->target.named, load->inherit ? " follow" : "");
}

/* 0: the threads are attached, and all others of the process have contexts. */
static int load_check_threads(
	const struct task_load_op *op, const struct task_ctx *task, struct err *e)
{
	if (!op->joining.err.no && op->attach.rc == 0)
		return load_check_id(task, e);
	return err_copy(e, op->joining.err.no ? &op->joining.err : &op->attach.err);
}

/* --- By a worker */

/* The worker has unloaded the context again. */
static void load_undone(struct job *own)
{
	struct task_load_op *op = container_of(own, struct task_load_op, own);

	task_destroy_children(op->reg, own->ec);
	load_answer(op->reg, op, -op->job->err.no);
}

static void load_post_own(struct task_load_op *op, void (*done)(struct job *job))
{
	struct engine_ctx *ec = op->job->ec;

	op->own.event.kind = EVENT_JOB;
	op->own.ec = ec;
	op->own.session_done = true;
	op->own.done = done;
	atomic_store(&op->own.state, JOB_WAITING);
	task_post(op->reg, ec->task, &op->own);
}

static void load_undo(struct task_load_op *op)
{
	op->own.cmd = (struct command){.verb = CMD_UNLOAD};
	op->own.first_load = false;
	load_post_own(op, load_undone);
}

static void load_checked_active(struct work *w)
{
	struct task_load_op *op = container_of(w, struct task_load_op, work);

	if (load_end_check(op) < 0) {
		load_undo(op);
		return;
	}
	load_note_threads(op);
	load_finish(op->reg, op, 0);
}

/* The thread is open, and can no longer be mistaken for another one. If the load has failed, the
 * context was taken from its worker before this. */
static void load_executed(struct job *own)
{
	struct task_load_op *op = container_of(own, struct task_load_op, own);

	if (own->rc < 0) {
		op->job->err = own->err;
		task_destroy_children(op->reg, own->ec);
		load_answer(op->reg, op, own->rc);
	} else if (load_begin_check(op, load_checked_active) < 0) {
		load_undo(op);
	}
}

static void load_execute(struct task_load_op *op)
{
	struct engine_ctx *ec = op->job->ec;

	op->own.cmd = op->job->cmd;
	op->own.cmd.tid = op->target.tid;
	op->own.cmd.load.always_active = true;
	op->own.first_load = true;
	ec->ctx.target.pid = op->target.tgid;
	load_post_own(op, load_executed);
}

/* --- By ctxsw threads */

static void load_followed(struct task_registry *reg, struct task_load_op *op, int rc)
{
	struct task_ctx *task = op->job->ec->task;
	pid_t tid = op->target.tid;

	if (rc == 0) {
		load_note_threads(op);
		task_ctx_kick(reg, task);
	} else if (task->traced) {
		/* After an exec, it may have the id of its process by now. */
		task_detach(reg, task->tid ? task->tid : tid);
	}
	if (rc < 0)
		task_destroy_children(reg, task->ec);
	load_finish(reg, op, rc);
}

static void load_checked_slot(struct work *w)
{
	struct task_load_op *op = container_of(w, struct task_load_op, work);
	struct task_ctx *task = op->job->ec->task;
	int rc = load_end_check(op);

	if (rc < 0) {
		sched_forget(op->reg->shared.sched, task->slot);
	} else {
		task->ec->ctx.target.pid = op->target.tgid;
		rc = load_core(op->reg, op, task);
	}
	load_followed(op->reg, op, rc);
}

/* 0: load_followed() follows. */
static int load_follow_slot(
	struct task_registry *reg, struct task_load_op *op, struct task_ctx *task)
{
	int rc = task_ctx_follow(reg, task, &op->job->err);

	if (rc < 0)
		return rc;
	rc = load_begin_check(op, load_checked_slot);
	if (rc < 0)
		sched_forget(reg->shared.sched, task->slot);
	return rc;
}

/* Called when the thread is traced, or at once if the load asks for no tracing. */
static void load_follow(struct task_registry *reg, struct task_load_op *op)
{
	struct task_ctx *task = op->job->ec->task;
	int rc = load_check_threads(op, task, &op->job->err);

	if (rc == 0 && task->worker) {
		load_execute(op);
		return;
	}
	if (rc == 0)
		rc = load_follow_slot(reg, op, task);
	if (rc < 0)
		load_followed(reg, op, rc);
}

static void load_handle_attached(struct task_registry *reg, struct task_event *event)
{
	struct task_load_op *op = container_of(event, struct task_load_op, attached);

	if (atomic_load(&op->attach.unhandled)) {
		op->joining.attached = event;
		return;
	}
	op->job->ec->task->traced = op->attach.attached;
	if (op->attach.kept && task_detaching(reg, op->target.tid))
		task_detached(reg, task_detaching(reg, op->target.tid));
	load_follow(reg, op);
}

/* Runs in the tracer's thread. */
static void load_attached(struct tracer_attach *attach)
{
	struct task_load_op *op = container_of(attach, struct task_load_op, attach);

	event_send(op->reg->shared.events, &op->attached.event);
}

static void load_attach(struct task_registry *reg, struct task_load_op *op)
{
	struct task_ctx *task = op->job->ec->task;

	if (!load_is_traced(&op->job->cmd.load)) {
		load_follow(reg, op);
		return;
	}
	op->attached.event.kind = EVENT_TASK;
	op->attached.handle = load_handle_attached;
	op->attach.tid = op->target.tid;
	op->attach.tgid = op->target.tgid;
	op->attach.by_itself = op->target.tid == op->job->pid;
	op->attach.uid = task->requester->cred.uid;
	op->attach.follow = task->follow;
	op->attach.process = task->process;
	task->joining = &op->joining;
	op->attach.done = load_attached;
	tracer_seize(reg->shared.tracer, &op->attach);
}

static void load_prepare_next(struct task_registry *reg, struct task_load_op *op)
{
	struct task_ctx *task = op->job->ec->task;

	while (++op->cpu < CPUS_MAX)
		if (cpus_has(&op->cpus, op->cpu)) {
			op->prepare.task = cpus_has(&task->covered, op->cpu) ? task : NULL;
			ctxsw_post_prepare(
				atomic_load(&reg->shared.ctxsw_threads[op->cpu]), &op->prepare);
			return;
		}
	load_attach(reg, op);
}

static void load_prepared(struct task_registry *reg, struct task_event *event)
{
	struct ctxsw_prepare_req *req = container_of(event, struct ctxsw_prepare_req, event);
	struct task_load_op *op = container_of(req, struct task_load_op, prepare);

	if (req->rc == 0 || !req->task) {
		load_prepare_next(reg, op);
		return;
	}
	op->job->err = req->err;
	load_finish(reg, op, req->rc);
}

/* EAGAIN: the tracer cannot attach to the thread now. */
static int load_check_attachable(
	struct task_registry *reg, const struct task_load_op *op, struct err *e)
{
	const struct target *t = &op->target;
	const struct detaching *d = task_detaching(reg, t->tid);

	if (d && d->late && t->tid != op->job->pid)
		return task_refuse_late(t->tid, e);
	return tracer_check_given_up(reg->shared.tracer, t->tgid, t->tid, e);
}

static int load_check_ctxsw(struct task_registry *reg, struct task_load_op *op,
	struct cpus *cpumask, struct cpus *covered, struct err *e)
{
	int rc = load_find_cpus(reg, &op->job->cmd, cpumask, covered, &op->cpus, e);

	op->job->cmd.load.pmu = task_cpus_pmu(reg->shared.be, cpumask);
	if (rc == 0)
		rc = core_load_check(&op->job->ec->ctx, &op->job->cmd, e);
	if (rc == 0)
		rc = task_check_taken(reg, op->target.tid, covered, e);
	return rc < 0 ? rc : load_init_ctxsw(reg, e);
}

static int load_check_request(struct task_registry *reg, struct task_load_op *op,
	struct cpus *cpumask, struct cpus *covered, struct err *e)
{
	struct job *job = op->job;
	int rc = load_check_process(&op->target, &job->cmd, e);

	if (rc == 0)
		rc = load_check_sets(job->ec, e);
	if (rc == 0)
		rc = task_check_inherit(reg, job, e);
	if (rc == 0)
		rc = load_check_blocking(&job->ec->ctx, op, job->pid, e);
	if (rc == 0)
		rc = load_check_loaded(reg, op->target.tid, &job->cmd, e);
	if (rc == 0)
		rc = op->active ? core_load_check(&job->ec->ctx, &job->cmd, e)
				: load_check_ctxsw(reg, op, cpumask, covered, e);
	if (rc == 0 && (!op->active || load_is_traced(&job->cmd.load)))
		rc = load_init_tracer(reg, e);
	if (rc == 0 && load_is_traced(&job->cmd.load))
		rc = load_check_attachable(reg, op, e);
	return rc;
}

/* The detach for which the load waits; NULL: none. For a thread that loads itself, that would be in
 * vain: see tracer_attach.by_itself. */
static struct detaching *load_find_detaching(struct task_registry *reg, struct task_load_op *op)
{
	struct detaching *d =
		load_is_traced(&op->job->cmd.load) ? task_detaching(reg, op->target.tid) : NULL;

	if (!d || op->target.tid != op->job->pid)
		return d;
	op->job->stopping = true;
	return NULL;
}

/* Begins the load of @op, whose lookup has ended, and takes @op. True in @begun: load_finish()
 * follows. */
static int load_begin(
	struct task_registry *reg, struct task_load_op *op, bool *begun, struct err *e)
{
	struct job *job = op->job;
	struct cpus cpumask = {{0}}, covered = {{0}};
	struct detaching *detaching;
	struct task_ctx *loaded, *task;
	int rc;

	task_measure(job, &op->target);
	op->active = task_load_is_active(reg, job);
	rc = load_check_request(reg, op, &cpumask, &covered, e);
	loaded = rc == 0 ? task_ctx_find(reg, op->target.tid) : NULL;
	detaching = rc == 0 ? load_find_detaching(reg, op) : NULL;
	if (loaded || detaching) {
		/* The load is submitted again, from the start, when the thread is free. */
		queue_put(loaded ? &loaded->waiting_loads : &detaching->waiting_loads, &job->link);
		load_free(op);
		return 0;
	}
	if (rc == 0)
		rc = (op->active ? task_ctx_new_active : task_ctx_new)(
			reg, job->ec, op->target.tid, &task, e);
	if (rc < 0) {
		load_free(op);
		return rc;
	}
	task->requester = op->requester;
	task->requester->refs++;
	task->cpumask = cpumask;
	task->has_cpumask = job->cmd.load.cpus;
	task->covered = covered;
	task->tgid = op->target.tgid;
	task->process = job->cmd.load.process && !job->cmd.load.inherit;
	task->follow = job->cmd.load.follow;
	task->inherit = job->cmd.load.inherit;
	task->began = load_is_traced(&job->cmd.load) ? 0 : op->target.began;
	task->check_exec = job->cmd.load.untraced && !credentials_trace_all(&op->requester->cred);
	task->loading = true;
	job->cmd.tid = job->cmd.load.process ? op->target.tgid : op->target.tid;
	if (task->worker) {
		*begun = true;
		load_attach(reg, op);
		return 0;
	}
	op->cpu = task_first_cpu(&op->cpus) - 1;
	op->prepare.event.event.kind = EVENT_TASK;
	op->prepare.event.handle = load_prepared;
	rc = task_start_ctxsw(reg, &op->cpus, e);
	if (rc < 0) {
		load_free(op);
		task_ctx_free(reg, task);
		return rc;
	}
	*begun = true;
	load_prepare_next(reg, op);
	return 0;
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
	struct task_load_op *op = container_of(w, struct task_load_op, work);
	struct job *job = op->job;
	struct err *e = &job->err;
	int rc = (job->cmd.load.process ? target_open_process : target_open)(
		job->pid, job->cmd.tid, &op->target, e);

	if (rc == 0)
		rc = requester_new(&op->requester, job, e);
	if (rc == 0)
		rc = load_check_writer(&job->cmd.load, &op->requester->cred, e);
	if (rc == 0)
		rc = target_check(&op->target, &op->requester->cred, e);
	op->checked = rc;
}

/* The context may have been loaded or removed meanwhile, so the engine checks that again. */
static void load_found(struct work *w)
{
	struct task_load_op *op = container_of(w, struct task_load_op, work);
	struct task_registry *reg = op->reg;

	if (w->ended)
		op->checked = err_set(&op->job->err, ENODEV, "the daemon is shutting down");
	if (op->checked < 0) {
		load_answer(reg, op, op->checked);
		return;
	}
	reg->looked_up = op;
	reg->ops->submit(reg->arg, op->job);
	if (!reg->looked_up)
		return;
	/* The load was refused, or waits to be submitted once more. */
	reg->looked_up = NULL;
	load_queue_next(reg, op->uid);
	load_free(op);
}

/* Begins the lookup. */
static int load_begin_lookup(struct task_registry *reg, struct job *job, struct err *e)
{
	struct task_load_op *op = calloc(1, sizeof(*op));
	int rc;

	if (!op)
		return err_set(e, ENOMEM, "no memory");
	op->reg = reg;
	op->job = job;
	op->uid = job->ec->uid;
	op->target.dir = -1;
	rc = load_start_work(op, load_find_target, load_found, e);
	if (rc < 0)
		load_free(op);
	return rc;
}

bool task_load_takes_cpus(const struct task_registry *reg, struct job *job)
{
	if (!reg->looked_up || reg->looked_up->job != job)
		return false;
	task_measure(job, &reg->looked_up->target);
	return !task_load_is_active(reg, job);
}

int task_load(struct task_registry *reg, struct job *job, struct err *e)
{
	unsigned uid = job->ec->uid;
	bool begun = false;
	int rc;

	if (reg->looked_up && reg->looked_up->job == job) {
		rc = load_begin(reg, take_ptr(&reg->looked_up), &begun, e);
	} else {
		rc = load_queue_enter(reg, job, e);
		if (rc <= 0)
			return rc;
		rc = load_begin_lookup(reg, job, e);
		begun = rc == 0;
	}
	if (!begun)
		load_queue_next(reg, uid);
	return rc;
}
