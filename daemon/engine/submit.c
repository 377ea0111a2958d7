// SPDX-License-Identifier: MIT
/* The way of commands: done here, or mailed to whoever has the context. */
#include <errno.h>

#include "daemon/cpu/engine_i.h"
#include "daemon/cpu/exec.h"

/* An unloaded tenant is news: a job that may leave it so makes it expected. */
static void expect_unloaded(struct engine *eng, struct tenant *t)
{
	t->expects++;
	eng->expected++;
}

/* After starting, the worker must do no more than it has to. */
static bool leaves_it_to_session(enum cmd_verb verb)
{
	return verb == CMD_START || verb == CMD_RESTART || command_needs_session(verb);
}

static void mail(struct engine *eng, struct job *job)
{
	struct tenant *t = job->tenant;

	if (leaves_it_to_session(job->cmd.verb))
		job->here = true;
	if (job->here)
		eng->expected++;
	if (job->cmd.verb == CMD_LOAD || job->cmd.verb == CMD_UNLOAD ||
		job->cmd.verb == CMD_DESTROY)
		expect_unloaded(eng, t);
	atomic_fetch_add(&t->inflight, 1);
	worker_mail(t->home, job);
}

/* Gives the tenant a worker of its own for the CPU of its load. */
static int move_in(struct engine *eng, struct job *job, struct err *e)
{
	struct tenant *t = job->tenant;
	unsigned cpu = job->cmd.cpu;
	const struct tenant *owner = engine_owner(eng, cpu);
	const struct tenant *rider = tracker_any(eng->tracker);
	int rc;

	if (rider)
		return err_set(e, EBUSY,
			"threads are monitored, by context '%s' of uid %u (loaded by pid %d) and "
			"perhaps others: a CPU can be loaded on when all of them are unloaded",
			rider->name, rider->uid, rider->pid);
	if (owner)
		return err_set(e, EBUSY,
			"CPU %u is taken by context '%s' of uid %u (loaded by pid %d): see cpus",
			cpu, owner->name, owner->uid, owner->pid);
	if (cpu >= eng->be->ops->cpu_limit(eng->be))
		return err_set(e, EINVAL, "there is no CPU %u: see cpus", cpu);
	rc = worker_new(eng->be, &eng->box, &eng->stats, cpu, &t->home, e);
	if (rc < 0)
		return rc;
	eng->stats.workers++;
	t->pid = job->pid;
	t->loaded_next = eng->loaded;
	eng->loaded = t;
	eng->watched += atomic_load(&t->watched);
	return 0;
}

static void finish(struct job *job)
{
	struct tenant *t = job->tenant;
	bool over = t->doomed && job->cmd.verb == CMD_DESTROY && !t->home && !t->rider;

	job->done(job);
	if (over)
		t->gone(t);
}

static bool only_looks(enum cmd_verb verb)
{
	return verb == CMD_READ || verb == CMD_INFO || verb == CMD_EVTSET_READ ||
	       verb == CMD_MESSAGES || verb == CMD_LIVE_READ;
}

/*
 * Reading needs no thread on the CPU: while its worker has nothing to do, the tenant is borrowed
 * from it. That is several times quicker than mail, and the monitored CPU executes no user
 * instruction for it; the kernel gets the register by an interrupt there, which the session
 * thread waits for, microseconds. An overflow that is found so is the worker's to act upon.
 * False: the worker is busy.
 */
static bool look(struct job *job)
{
	struct tenant *t = job->tenant;
	unsigned none = 0;
	bool found;

	if (!only_looks(job->cmd.verb))
		return false;
	if (!atomic_compare_exchange_strong(&t->inflight, &none, 1))
		return false;
	job->rc = exec_command(worker_executor(t->home), &t->ctx, &job->cmd, &job->err);
	tenant_publish(t);
	found = ctx_wake(&t->ctx).at == 1;
	atomic_fetch_sub(&t->inflight, 1);
	if (found)
		worker_prod(t->home);
	job->done(job);
	return true;
}

static int ride(struct engine *eng, struct job *job, struct err *e)
{
	const struct tenant *owner = eng->loaded;
	int rc;

	if (eng->be->sim)
		return err_set(
			e, EINVAL, "the simulated backend has no threads: write 'load cpu=N'");
	if (owner)
		return err_set(e, EBUSY,
			"CPU %u is monitored, by context '%s' of uid %u (loaded by pid %d) and "
			"perhaps others: a thread can be loaded on when all of them are unloaded",
			worker_cpu(owner->home), owner->name, owner->uid, owner->pid);
	rc = tracker_load(eng->tracker, job, e);
	if (rc == 0)
		job->tenant->pid = job->pid;
	return rc;
}

/* Whose being loaded excludes that load. */
static const struct tenant *in_the_way(const struct engine *eng, const struct command *cmd)
{
	const struct tenant *rider = tracker_any(eng->tracker);

	if (cmd->tid)
		return eng->loaded;
	return rider ? rider : engine_owner(eng, cmd->cpu);
}

/* Done by the caller if it fails, or has to be. False: it is under way. */
static bool load(struct engine *eng, struct job *job)
{
	const struct tenant *other = in_the_way(eng, &job->cmd);
	struct err *e = &job->err;

	job->rc = core_load_check(&job->tenant->ctx, &job->cmd, e);
	if (job->rc < 0)
		return true;
	if (eng->ending) {
		job->rc = err_set(e, ENODEV, "the daemon is ending");
		return true;
	}
	/* Somebody has unloaded a thread just now, and its carriers put registers back; or has
	 * closed a context, which is being unloaded. */
	if ((other && other->doomed) ||
		(!tracker_any(eng->tracker) && !tracker_idle(eng->tracker))) {
		queue_put(&eng->waiting, &job->link);
		return false;
	}
	if (job->cmd.tid) {
		job->rc = ride(eng, job, e);
		return job->rc < 0;
	}
	job->rc = move_in(eng, job, e);
	if (job->rc < 0)
		return true;
	job->initial = true;
	mail(eng, job);
	return false;
}

void engine_submit(struct engine *eng, struct job *job)
{
	struct tenant *t = job->tenant;

	job->news.kind = NEWS_JOB;
	atomic_fetch_add(&eng->stats.commands, 1);
	if (job->cmd.verb == CMD_DESTROY)
		t->doomed = true;
	if (t->home) {
		if (!look(job))
			mail(eng, job);
		return;
	}
	if (t->rider) {
		tracker_submit(eng->tracker, job);
		return;
	}
	if (t->doomed && job->cmd.verb != CMD_DESTROY) {
		job->rc = err_set(&job->err, ENODEV, "the context is being removed");
	} else if (job->cmd.verb == CMD_LOAD) {
		if (!load(eng, job))
			return;
	} else {
		job->rc = exec_command(&eng->x, &t->ctx, &job->cmd, &job->err);
		tenant_publish(t);
	}
	finish(job);
}

bool engine_cancel(struct job *job)
{
	int waiting = JOB_WAITING;

	return job->cmd.verb != CMD_DESTROY &&
	       atomic_compare_exchange_strong(&job->state, &waiting, JOB_CANCELLED);
}

bool engine_submit_bounced(struct engine *eng, struct tenant *t)
{
	struct link *l = queue_take(&t->bounced);
	struct job *destroy = NULL;

	while (l) {
		struct job *job = link_entry(l, struct job, link);

		l = l->next;
		job->bounced = false;
		if (job->cmd.verb == CMD_DESTROY) {
			destroy = job;
		} else if (job->cmd.verb == CMD_END) {
			job->done(job); /* of a load that is over: there may be another by now */
		} else if (t->doomed) {
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

void engine_submit_waiting(struct engine *eng)
{
	struct link *l = queue_take(&eng->waiting);

	while (l) {
		struct job *job = link_entry(l, struct job, link);

		l = l->next;
		engine_submit(eng, job);
	}
}
