// SPDX-License-Identifier: MIT
/* Commands: executed here, or posted to the thread that owns the context. */
#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "daemon/engine/engine_i.h"
#include "daemon/percpu/exec.h"
#include "daemon/percpu/thread.h"

static bool submit_may_unload(enum cmd_verb verb)
{
	return verb == CMD_LOAD || verb == CMD_UNLOAD || verb == CMD_DESTROY || verb == CMD_YIELD ||
	       verb == CMD_RESUME;
}

/* A worker that has started the counters leaves done() to the session thread. */
static bool submit_is_session_done(enum cmd_verb verb)
{
	return verb == CMD_START || verb == CMD_RESTART || command_needs_session(verb);
}

void engine_post(struct engine *eng, struct job *job)
{
	struct engine_ctx *ec = job->ec;

	if (submit_is_session_done(job->cmd.verb))
		job->session_done = true;
	if (job->session_done)
		engine_expect(eng, 1);
	if (submit_may_unload(job->cmd.verb))
		engine_expect_unloaded(eng, ec);
	engine_ctx_begin_job(ec);
	worker_post(ec->worker, job);
}

/* Background contexts give way to other contexts, but not to each other. */
static bool submit_gives_way(const struct engine_ctx *owner, const struct engine_ctx *to)
{
	return owner->yield.background && !(to->ctx.flags & CTX_BACKGROUND);
}

static int submit_check_cpu(const struct engine *eng, const struct job *job, struct err *e)
{
	unsigned cpu = job->cmd.load.cpu;
	const struct engine_ctx *owner = engine_owner(eng, cpu);

	if (owner && !submit_gives_way(owner, job->ec))
		return err_set(e, EBUSY,
			"CPU %u is taken by context '%s' of uid %u (loaded by pid %d): see cpus",
			cpu, owner->name, owner->uid, owner->pid);
	if ((job->ec->ctx.flags & CTX_BACKGROUND) && engine_has_ctxsw(eng, cpu))
		return err_set(e, EBUSY,
			"threads are monitored on CPU %u, and a background context does not "
			"preempt them: see cpus",
			cpu);
	if (cpu >= eng->be->ops->cpu_limit(eng->be))
		return err_set(e, EINVAL, "there is no CPU %u: see cpus", cpu);
	if (job->ec->ctx.smpl.user_stack && job->ec->uid)
		return err_set(e, EPERM,
			"user_stack shows memory of all users' threads on a CPU, which only "
			"root may see: load on threads, or leave it out of format");
	return 0;
}

static void submit_yield_done(struct job *job)
{
	free(job);
}

/* Makes a background context give up its CPU. The load that wants the CPU waits in eng->waiting. */
static int submit_yield(struct engine *eng, struct engine_ctx *ec, bool to_thread, struct err *e)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return err_set(e, ENOMEM, "no memory to make context '%s' give way", ec->name);
	job->event.kind = EVENT_JOB;
	job->ec = ec;
	job->cmd.verb = CMD_YIELD;
	job->session_done = true;
	job->done = submit_yield_done;
	ec->yield.asked = true;
	ec->yield.to_thread = to_thread;
	engine_post(eng, job);
	return 0;
}

int engine_open_worker(struct engine *eng, struct engine_ctx *ec, unsigned cpu, struct err *e)
{
	int rc = worker_new(&eng->shared, cpu, 0, &ec->worker, e);

	if (rc < 0) {
		task_return_cpu(eng->task_registry, cpu);
		return rc;
	}
	eng->stats.workers++;
	list_add(&ec->loaded_entry, &eng->loaded);
	eng->watched += atomic_load(&ec->watched);
	return 0;
}

enum submitted {
	SUBMITTED_ENDED,    /* job->rc is the outcome, which is yet to be answered */
	SUBMITTED_POSTED,   /* to the owner of the context, or to a queue */
	SUBMITTED_MAY_LOAD, /* a load on a thread */
};

static void submit_finish(struct job *job)
{
	struct engine_ctx *ec = job->ec;
	bool destroyed = ec->destroying && job->cmd.verb == CMD_DESTROY && !ec->worker && !ec->task;

	job->done(job);
	if (destroyed)
		ec->ops->destroyed(ec);
}

static bool submit_is_read(enum cmd_verb verb)
{
	return verb == CMD_READ || verb == CMD_INFO || verb == CMD_EVTSET_READ ||
	       verb == CMD_LIVE_READ || verb == CMD_COUNTS || verb == CMD_CLONE;
}

/* Publishes the changes of a command that the session thread has executed. */
static void submit_publish(struct engine_ctx *ec)
{
	if (engine_ctx_publish(ec) && atomic_load(&ec->watched))
		ec->ops->on_change(ec);
}

/* Whether the read may take long: files of some devices do, and so does the handling of a thread's
 * samples. */
static bool submit_is_long(const struct job *job)
{
	const struct engine_ctx *ec = job->ec;

	return ctx_reads_files(&ec->ctx, &job->cmd) || (ec->task && ec->ctx.samples.interrupts);
}

/*
 * Executes a read in this thread, which borrows the context from its worker while the worker is
 * idle. This is several times faster than posting the job, and the monitored CPU executes no
 * user-mode instruction: the kernel reads the register in an interrupt there, for which the session
 * thread waits microseconds. The worker is kicked if the read finds an overflow. False: the worker
 * is busy, there is none, or the read may take long.
 */
static bool submit_borrow(struct job *job)
{
	struct engine_ctx *ec = job->ec;
	struct worker *worker = ec->task ? task_lender(ec->task) : ec->worker;
	bool overflow;

	if (!worker || !submit_is_read(job->cmd.verb) || !engine_ctx_borrow(ec))
		return false;
	if (submit_is_long(job)) {
		engine_ctx_release(ec);
		return false;
	}
	job->rc = exec_command(worker_executor(worker), &ec->ctx, &job->cmd, &job->err);
	submit_publish(ec);
	overflow = ctx_wake(&ec->ctx).at == 1;
	engine_ctx_release(ec);
	if (overflow)
		worker_kick(worker);
	job->done(job);
	return true;
}

int submit_make_way(struct engine *eng, struct job *job, struct err *e)
{
	const struct cpus *cpus = job->cmd.load.cpus;
	struct engine_ctx *ec;
	int rc = 0;

	list_for_each_entry (ec, &eng->loaded, loaded_entry) {
		if (!ec->yield.background || (cpus && !cpus_has(cpus, worker_cpu(ec->worker))))
			continue;
		if (submit_yield(eng, ec, true, e) < 0)
			return -e->no;
		rc = 1;
	}
	if (rc)
		queue_put(&eng->waiting, &job->link);
	return rc;
}

/* True if a context that is removed, or gives way, leaves a CPU that the load needs: the CPU that
 * it names, or any CPU for a thread. */
static bool submit_waits_for_cpu(const struct engine *eng, const struct command *cmd)
{
	const struct engine_ctx *ec;

	list_for_each_entry (ec, &eng->loaded, loaded_entry)
		if ((ec->destroying || ec->yield.asked) &&
			(cmd->tid || worker_cpu(ec->worker) == cmd->load.cpu))
			return true;
	return false;
}

/* Checks the grant again, as the rights are as of the request, which may have waited. */
static int submit_check_grant(const struct engine *eng, const struct job *job, struct err *e)
{
	uint64_t now = nsec_now(CLOCK_REALTIME) / NSEC_PER_SEC;
	unsigned cpu = job->cmd.load.cpu;

	if (grants_cover(eng->grants, &job->cmd.rights, cpu, now))
		return 0;
	return err_set(e, EPERM,
		"the grant for CPU %u was revoked or has expired: see config/grants", cpu);
}

/* Loads a context on a CPU. */
static enum submitted submit_load_cpu(struct engine *eng, struct job *job)
{
	struct engine_ctx *ec = job->ec, *owner;
	unsigned cpu = job->cmd.load.cpu;

	job->rc = submit_check_cpu(eng, job, &job->err);
	if (job->rc == 0)
		job->rc = submit_check_grant(eng, job, &job->err);
	owner = engine_owner(eng, cpu);
	if (job->rc == 0 && owner)
		job->rc = submit_yield(eng, owner, false, &job->err);
	if (job->rc < 0)
		return SUBMITTED_ENDED;
	if (owner || !task_take_cpu(eng->task_registry, cpu, ec->uid)) {
		queue_put(&eng->waiting, &job->link);
		return SUBMITTED_POSTED;
	}
	job->rc = engine_open_worker(eng, ec, cpu, &job->err);
	if (job->rc < 0)
		return SUBMITTED_ENDED;
	ec->pid = job->pid;
	ec->rights = job->cmd.rights;
	ec->yield.background = ec->ctx.flags & CTX_BACKGROUND;
	job->kind = JOB_FIRST_LOAD;
	engine_post(eng, job);
	return SUBMITTED_POSTED;
}

static enum submitted submit_load(struct engine *eng, struct job *job)
{
	struct err *e = &job->err;

	job->rc = core_load_check(&job->ec->ctx, &job->cmd, e);
	if (job->rc < 0)
		return SUBMITTED_ENDED;
	if (eng->ending) {
		job->rc = err_set(e, ENODEV, "the daemon is shutting down");
		return SUBMITTED_ENDED;
	}
	/* The load also waits while ctxsw threads still restore registers, after the last context
	 * on a thread was unloaded. */
	if (submit_waits_for_cpu(eng, &job->cmd) ||
		(!task_any(eng->task_registry) && !task_idle(eng->task_registry))) {
		queue_put(&eng->waiting, &job->link);
		return SUBMITTED_POSTED;
	}
	if (!job->cmd.tid)
		return submit_load_cpu(eng, job);
	if (eng->be->sim) {
		job->rc =
			err_set(e, EINVAL, "the sim backend counts no threads: write 'load cpu=N'");
		return SUBMITTED_ENDED;
	}
	job->ec->pid = job->pid;
	return SUBMITTED_MAY_LOAD;
}

/* Takes a context that had yielded and is now unloaded out of eng->yielded. */
static void submit_end_yield(const struct engine *eng, struct engine_ctx *ec)
{
	if (!ec->yield.done || ec->ctx.yielded)
		return;
	ec->yield.done = false;
	list_del(&ec->loaded_entry);
	if (ec->ops->unloaded)
		ec->ops->unloaded(ec, eng->ending);
}

static void submit_count(struct engine *eng, struct job *job)
{
	if (!job->counted)
		atomic_fetch_add(&eng->stats.commands, 1);
	job->counted = true;
}

/* Notes that a command counts at kernel level by a grant, which the load did not have. */
static void submit_note_grant(struct engine_ctx *ec, const struct rights_by_grant *r)
{
	if (!r->kernel)
		return;
	if (!ec->rights.by_grant.system)
		ec->rights.by_grant.uid = r->uid;
	ec->rights.by_grant.kernel = true;
}

/* Submits a command in the state that the context has now. */
static enum submitted submit_now(struct engine *eng, struct job *job)
{
	struct engine_ctx *ec = job->ec;

	if (ec->worker || ec->yield.done)
		submit_note_grant(ec, &job->cmd.rights.by_grant);
	if (submit_borrow(job))
		return SUBMITTED_POSTED;
	if (ec->worker) {
		engine_post(eng, job);
		return SUBMITTED_POSTED;
	}
	if (ec->task) {
		task_submit(eng->task_registry, job);
		return SUBMITTED_POSTED;
	}
	if (ec->destroying && job->cmd.verb != CMD_DESTROY) {
		job->rc = err_set(&job->err, ENODEV, "the context is being removed");
		return SUBMITTED_ENDED;
	}
	if (job->cmd.verb == CMD_LOAD)
		return submit_load(eng, job);
	job->rc = exec_command(&eng->x, &ec->ctx, &job->cmd, &job->err);
	submit_publish(ec);
	submit_end_yield(eng, ec);
	return SUBMITTED_ENDED;
}

bool submit_admit(struct engine *eng, struct job *job)
{
	enum submitted s = submit_now(eng, job);

	if (s == SUBMITTED_ENDED)
		submit_finish(job);
	return s == SUBMITTED_MAY_LOAD;
}

void engine_submit(struct engine *eng, struct job *job)
{
	assert_session_thread();
	job->event.kind = EVENT_JOB;
	submit_count(eng, job);
	if (job->cmd.verb == CMD_DESTROY)
		job->ec->destroying = true;
	if (submit_admit(eng, job) && task_load(eng->task_registry, job) < 0)
		submit_finish(job);
}

bool engine_cancel(struct job *job)
{
	int waiting = JOB_WAITING;

	return job->cmd.verb != CMD_DESTROY &&
	       atomic_compare_exchange_strong(&job->state, &waiting, JOB_CANCELLED);
}

bool engine_interrupts(struct engine *eng, const struct job *job)
{
	return job->stopping || task_is_detaching(eng->task_registry, job->pid);
}

bool engine_submit_requeued(struct engine *eng, struct engine_ctx *ec)
{
	struct job *job, *destroy = NULL;

	queue_for_each (job, queue_take(&ec->requeued), link) {
		job->requeued = false;
		if (job->cmd.verb == CMD_DESTROY) {
			destroy = job;
		} else if (job->cmd.verb == CMD_END) {
			job->done(job); /* It belongs to an earlier load. */
		} else if (ec->destroying) {
			job->rc = err_set(&job->err, ENODEV, "the context is being removed");
			job->done(job);
		} else {
			engine_submit(eng, job);
		}
	}
	if (destroy)
		engine_submit(eng, destroy);
	return destroy;
}

/* Returns CPUs that threads have given up for loads that did not happen. */
static void submit_return_cpus(struct engine *eng)
{
	unsigned n = eng->be->ops->cpu_limit(eng->be);

	for (unsigned cpu = 0; cpu < n; cpu++)
		if (task_has_given_cpu(eng->task_registry, cpu) && !engine_owner(eng, cpu))
			task_return_cpu(eng->task_registry, cpu);
}

void engine_submit_waiting(struct engine *eng)
{
	struct job *job;

	queue_for_each (job, queue_take(&eng->waiting), link)
		engine_submit(eng, job);
	submit_return_cpus(eng);
}
