// SPDX-License-Identifier: MIT
/* Contexts on threads: their table, their slots, and commands for them. */
#include "daemon/task/task_registry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/authz/proc.h"
#include "daemon/percpu/thread.h"
#include "daemon/task/task_registry_i.h"

/* Frees ctxsw threads when the last one has exited: until then, others may kick any of them. */
static void registry_ctxsw_exited(struct task_registry *reg, struct task_event *event)
{
	queue_put(&reg->exited_threads, &event->event.link);
	if (--reg->shared.stats->ctxsw_threads)
		return;
	queue_for_each (event, queue_take(&reg->exited_threads), event.link)
		ctxsw_thread_free(ctxsw_thread_of_event(event));
	reg->ops->resubmit_loads(reg->arg);
}

static void registry_cpu_given(struct task_registry *reg, struct task_event *event)
{
	ctxsw_given_handled(event);
	reg->ops->resubmit_loads(reg->arg);
}

int task_registry_new(const struct worker_shared *workers, const struct task_registry_ops *ops,
	void *arg, struct task_registry **out, struct err *e)
{
	CLEANUP_FREE struct task_registry *reg = calloc(1, sizeof(*reg));

	if (!reg || hash_init(&reg->by_tid) < 0)
		return err_set(e, ENOMEM, "no memory");
	if (hash_init(&reg->detaching_by_tid) < 0) {
		hash_free(&reg->by_tid);
		return err_set(e, ENOMEM, "no memory");
	}
	reg->shared = (struct ctxsw_shared){
		.be = workers->be,
		.events = workers->events,
		.stats = workers->stats,
		.workers = workers,
		.cpu_given = registry_cpu_given,
		.thread_exited = registry_ctxsw_exited,
	};
	list_init(&reg->tasks);
	list_init(&reg->detaching);
	list_init(&reg->load_queues);
	list_init(&reg->budgets);
	task_work_init(reg);
	reg->x.be = workers->be;
	reg->x.stats = &workers->stats->exec;
	reg->ops = ops;
	reg->arg = arg;
	*out = take_ptr(&reg);
	return 0;
}

void task_registry_stop(struct task_registry *reg)
{
	if (reg->shared.tracer)
		tracer_free(take_ptr(&reg->shared.tracer));
}

void task_registry_free(struct task_registry *reg)
{
	if (reg->shared.sched)
		sched_close(reg->shared.sched);
	virtual_pmd_close(&reg->x.virtuals);
	while (!list_empty(&reg->detaching))
		task_detached(reg, list_entry(reg->detaching.next, struct detaching, link));
	load_queues_free(reg);
	task_work_free(reg);
	task_budgets_free(reg);
	hash_free(&reg->by_tid);
	hash_free(&reg->detaching_by_tid);
	free(reg->shared.slots);
	free(reg);
}

struct engine_ctx *task_any(const struct task_registry *reg)
{
	const struct task_ctx *task = list_first_entry_or_null(&reg->tasks, struct task_ctx, link);

	return task ? task->ec : NULL;
}

void task_each(const struct task_registry *reg,
	void (*fn)(void *arg, const struct engine_ctx *ec, int tid), void *arg)
{
	const struct task_ctx *task;

	list_for_each_entry (task, &reg->tasks, link)
		fn(arg, task->ec, task->tid);
}

int task_tid(const struct task_ctx *task)
{
	return task->tid;
}

bool task_idle(const struct task_registry *reg)
{
	return list_empty(&reg->tasks) && !reg->shared.stats->ctxsw_threads;
}

bool task_expects_events(const struct task_registry *reg)
{
	return !task_idle(reg) || !list_empty(&reg->detaching) || !list_empty(&reg->load_queues);
}

bool task_covers_cpu(const struct task_registry *reg, unsigned cpu)
{
	return cpu < CPUS_MAX && atomic_load(&reg->shared.ctxsw_threads[cpu]);
}

/* --- Task contexts */

struct task_ctx *task_ctx_find(struct task_registry *reg, pid_t tid)
{
	struct hash_node *node = hash_find(&reg->by_tid, (uint64_t)tid);

	return node ? container_of(node, struct task_ctx, tid_node) : NULL;
}

/* A thread that is not traced may have ended long ago; its context keeps the id as a name. */
static void registry_unhash(struct task_registry *reg, struct task_ctx *task)
{
	if (!task->hashed)
		return;
	hash_remove(&reg->by_tid, &task->tid_node);
	task->hashed = false;
	if (!task->began)
		task->tid = 0;
}

/* True if @task is the context of an earlier thread with the id @tid. False in doubt, as two
 * contexts on one thread would take its switches from each other. */
static bool registry_is_earlier(const struct task_ctx *task, pid_t tid)
{
	CLEANUP_CLOSE int dir = -1;
	struct err e = {0};
	uint64_t began;

	if (!task->began)
		return false;
	dir = proc_open(tid, &e);
	began = dir < 0 ? 0 : proc_began(dir);
	return e.no == ESRCH || (began && began != task->began);
}

struct task_ctx *task_ctx_find_same(struct task_registry *reg, pid_t tid)
{
	struct task_ctx *task = task_ctx_find(reg, tid);

	if (!task || !registry_is_earlier(task, tid))
		return task;
	registry_unhash(reg, task);
	return NULL;
}

void task_ctx_set_tid(struct task_registry *reg, struct task_ctx *task, pid_t tid)
{
	struct task_ctx *old = task_ctx_find(reg, tid);

	/* The thread that had this id has ended. */
	if (old)
		registry_unhash(reg, old);
	registry_unhash(reg, task);
	task->tid = tid;
	task->hashed = true;
	hash_add(&reg->by_tid, &task->tid_node, (uint64_t)tid);
	if (task->worker)
		worker_set_tid(task->worker, tid);
}

/* A free slot; 0: there is none. Slots are used in turn, so that a slot stays unused for as long as
 * possible: see sched.h. */
static unsigned registry_free_slot(struct task_registry *reg)
{
	for (unsigned i = 1; i < SCHED_SLOTS; i++) {
		reg->next_slot = reg->next_slot % (SCHED_SLOTS - 1) + 1;
		if (!reg->shared.slots[reg->next_slot].task)
			return reg->next_slot;
	}
	return 0;
}

/* By now, the slot may belong to another thread, which is alive. */
static void registry_slot_died(struct task_registry *reg, struct task_event *event)
{
	struct task_slot *s = container_of(event, struct task_slot, death_event);

	if (s->task && task_ctx_is_dead(reg, s->task))
		task_ctx_end(reg, s->task);
	else
		atomic_store(&s->death_reported, false);
}

int task_ctx_add(struct task_registry *reg, struct engine_ctx *ec, pid_t tid, struct task_ctx **out,
	struct err *e)
{
	CLEANUP_FREE struct task_ctx *task = calloc(1, sizeof(*task));
	CLEANUP_FREE struct job *end = calloc(1, sizeof(*end));

	if (!task || !end)
		return err_set(e, ENOMEM, "no memory");
	task->end_job = take_ptr(&end);
	list_init(&task->end_work.link);
	task->ec = task->root = ec;
	task_ctx_set_tid(reg, task, tid);
	list_add(&task->link, &reg->tasks);
	ec->task = task;
	reg->shared.stats->threads++;
	*out = take_ptr(&task);
	return 0;
}

int task_ctx_new(struct task_registry *reg, struct engine_ctx *ec, pid_t tid, struct task_ctx **out,
	struct err *e)
{
	struct switch_budget *budget = ec->uid ? task_budget_get(reg, ec->uid) : NULL;
	unsigned slot = registry_free_slot(reg);
	struct task_slot *s = &reg->shared.slots[slot];
	int rc = 0;

	if (!slot)
		rc = err_set(e, ENOSPC,
			"%d threads are followed already, which is the limit: unload some",
			SCHED_SLOTS - 1);
	else if (ec->uid && !budget)
		rc = err_set(e, ENOMEM, "no memory");
	if (rc == 0)
		rc = task_ctx_add(reg, ec, tid, out, e);
	if (rc < 0) {
		task_budget_put(budget);
		return rc;
	}
	(*out)->budget = budget;
	(*out)->slot = slot;
	s->task = *out;
	s->death_event.event.kind = EVENT_TASK;
	s->death_event.handle = registry_slot_died;
	atomic_store(&s->missed, 0);
	atomic_store(&s->death_reported, false);
	return 0;
}

static void registry_retire_all(struct task_registry *reg)
{
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct ctxsw_thread *ct = atomic_exchange(&reg->shared.ctxsw_threads[cpu], NULL);

		if (ct)
			ctxsw_thread_retire(ct);
	}
}

int requester_new(struct requester **out, struct job *load, struct err *e)
{
	CLEANUP_FREE struct requester *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(e, ENOMEM, "no memory");
	if (credentials_of(load->pid, &p->cred, e) < 0)
		return -e->no;
	if (credentials_limit(&p->cred, &load->cmd.load.opener, e) < 0) {
		credentials_drop(&p->cred);
		return -e->no;
	}
	p->refs = 1;
	p->rights = load->cmd.rights;
	p->limits = load->cmd.limits;
	*out = take_ptr(&p);
	return 0;
}

void requester_unref(struct requester *p)
{
	if (!p || --p->refs)
		return;
	credentials_drop(&p->cred);
	free(p);
}

static void registry_submit_loads(struct task_registry *reg, struct link *waiting)
{
	struct job *job;

	queue_for_each (job, waiting, link)
		reg->ops->submit(reg->arg, job);
}

/* The ctxsw threads end with the last context. The scheduler's BPF programs remain: they take long
 * to load, and return at once while no thread is followed. */
void task_ctx_free(struct task_registry *reg, struct task_ctx *task)
{
	struct task_ctx *root = task->root->task;
	struct link *waiting;

	list_del(&task->link);
	list_del(&task->end_work.link);
	registry_unhash(reg, task);
	task->root->followed -= task->root != task->ec;
	if (task->worker) {
		reg->ops->retire(reg->arg, task->worker);
		task_uncharge_worker(reg, task->ec);
	} else {
		reg->shared.slots[task->slot].task = NULL;
	}
	task->ec->task = NULL;
	reg->shared.stats->threads--;
	requester_unref(task->requester);
	task_budget_put(task->budget);
	waiting = queue_take(&task->waiting_loads);
	free(task->end_job);
	free(task);
	if (root && root != task && root->end_waits)
		task_ctx_end(reg, root);
	registry_submit_loads(reg, waiting);
	if (!list_empty(&reg->tasks))
		return;
	if (reg->shared.stats->ctxsw_threads)
		registry_retire_all(reg);
	else
		reg->ops->resubmit_loads(reg->arg);
}

void task_ctx_kick(struct task_registry *reg, const struct task_ctx *task)
{
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct ctxsw_thread *ct = atomic_load(&reg->shared.ctxsw_threads[cpu]);

		if (ct && cpus_has(&task->covered, cpu))
			ctxsw_kick(ct);
	}
}

static enum sched_death registry_death(const struct task_registry *reg, const struct task_ctx *task)
{
	return __atomic_load_n(&sched_slot(reg->shared.sched, task->slot)->dead, __ATOMIC_ACQUIRE);
}

bool task_ctx_is_dead(const struct task_registry *reg, const struct task_ctx *task)
{
	return !task->worker && registry_death(reg, task);
}

static void registry_report_revoked(struct task_registry *reg, const struct task_ctx *task)
{
	const struct sched_slot *s = sched_slot(reg->shared.sched, task->slot);
	struct err e;

	if (registry_death(reg, task) != SCHED_REVOKED)
		return;
	err_set(&e, EPERM,
		"thread %u executed a program that you may not trace, and is no longer followed: "
		"load as root",
		__atomic_load_n(&s->tid, __ATOMIC_RELAXED));
	task->ec->ops->report_error(task->ec, &e);
}

/* Thousands of threads may end at once, with their process. */
static bool registry_submit_end(struct task_registry *reg, struct task_work *w, unsigned *left)
{
	struct task_ctx *task = container_of(w, struct task_ctx, end_work);

	--*left;
	if (!task->worker)
		registry_report_revoked(reg, task);
	*task->end_job = (struct job){
		.ec = task->ec,
		.cmd.verb = CMD_END,
		.done = task_job_done,
	};
	reg->ops->submit(reg->arg, take_ptr(&task->end_job));
	return true;
}

void task_ctx_end(struct task_registry *reg, struct task_ctx *task)
{
	task->end_due = task->loading;
	if (!task->end_job || task->loading)
		return;
	task->end_waits = task->process && task->ec == task->root && task->ec->followed;
	if (task->end_waits || !list_empty(&task->end_work.link))
		return;
	task->end_work.some = registry_submit_end;
	task_work_add(reg, task->ec->uid, &task->end_work);
}

/* --- Threads that are being detached */

/* Without memory for the record, a load that comes too soon fails with EBUSY. */
void task_detach(struct task_registry *reg, pid_t tid)
{
	struct detaching *d = calloc(1, sizeof(*d));

	if (d) {
		d->tid = tid;
		list_add(&d->link, &reg->detaching);
		hash_add(&reg->detaching_by_tid, &d->tid_node, (uint64_t)tid);
	}
	tracer_detach(reg->shared.tracer, tid);
}

struct detaching *task_detaching(struct task_registry *reg, pid_t tid)
{
	struct hash_node *node = hash_find(&reg->detaching_by_tid, (uint64_t)tid);

	return node ? container_of(node, struct detaching, tid_node) : NULL;
}

bool task_is_detaching(struct task_registry *reg, pid_t tid)
{
	return task_detaching(reg, tid);
}

void task_detaching_set_tid(struct task_registry *reg, struct detaching *d, pid_t tid)
{
	hash_remove(&reg->detaching_by_tid, &d->tid_node);
	d->tid = tid;
	hash_add(&reg->detaching_by_tid, &d->tid_node, (uint64_t)tid);
}

void task_detached(struct task_registry *reg, struct detaching *d)
{
	struct link *waiting = queue_take(&d->waiting_loads);

	list_del(&d->link);
	hash_remove(&reg->detaching_by_tid, &d->tid_node);
	free(d);
	registry_submit_loads(reg, waiting);
}

int task_refuse_late(pid_t tid, struct err *e)
{
	return err_set(e, EAGAIN,
		"thread %d is still being detached, which takes effect when it next runs (it may "
		"be starved, in execve(), or waiting for a vfork child): try again later",
		tid);
}

static void registry_refuse_late(struct job *job, pid_t tid)
{
	job->rc = job_begin(job);
	if (job->rc == 0)
		job->rc = task_refuse_late(tid, &job->err);
	job->done(job);
}

void task_detach_late(struct detaching *d)
{
	struct job *job;

	d->late = true;
	queue_for_each (job, queue_take(&d->waiting_loads), link)
		registry_refuse_late(job, d->tid);
}

void task_registry_stop_waiting(struct task_registry *reg)
{
	struct detaching *d;

	list_for_each_entry (d, &reg->detaching, link)
		registry_submit_loads(reg, queue_take(&d->waiting_loads));
	load_queues_stop(reg);
}

/* --- Ctxsw threads */

int task_start_ctxsw(struct task_registry *reg, const struct cpus *cpus, struct err *e)
{
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct ctxsw_thread *ct = atomic_load(&reg->shared.ctxsw_threads[cpu]);
		int rc;

		if (ct || !cpus_has(cpus, cpu))
			continue;
		rc = ctxsw_thread_new(&reg->shared, cpu, &ct, e);
		if (rc < 0)
			return rc;
		atomic_store(&reg->shared.ctxsw_threads[cpu], ct);
		reg->shared.stats->ctxsw_threads++;
	}
	return 0;
}

/* --- Commands */

static bool registry_is_for_all(enum cmd_verb verb)
{
	return verb == CMD_START || verb == CMD_STOP || verb == CMD_UNLOAD;
}

/* EBUSY: the write adds notify. A context with registers of its own only counts, and nothing would
 * find its overflows in time to notify them: see ctx_only_counts(). */
static int registry_check_notify(struct cmd_reg *r, struct err *e)
{
	bool written = r->pmd ? !(r->keep & PMD_NOTICE) : r->confer & PMD_NOTICE;

	if (!written || !(r->conf.flags & PMD_NOTIFY))
		return 0;
	r->fault = FAULT_REFUSED;
	return err_set(e, EBUSY,
		"%s%u: notify cannot be set while the context is loaded on a thread: unload, write "
		"it, and load again",
		r->pmd ? "pmd" : "pmc", r->num);
}

static int registry_check_write(struct command *cmd, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && cmd->verb == CMD_WRITE && i < cmd->vector.nregs; i++)
		rc = registry_check_notify(&cmd->vector.regs[i], e);
	return rc;
}

void task_submit(struct task_registry *reg, struct job *job)
{
	struct engine_ctx *ec = job->ec;
	struct task_ctx *task = ec->task;

	assert_session_thread();
	if (task->loading || (task->for_all && job->cmd.verb != CMD_END)) {
		queue_put(&ec->requeued, &job->link);
		return;
	}
	if (task->worker && registry_check_write(&job->cmd, &job->err) < 0) {
		job->rc = -job->err.no;
		job->done(job);
		return;
	}
	if (command_needs_session(job->cmd.verb))
		job->session_done = true;
	if ((task->follow || task->process) && task->root == ec &&
		registry_is_for_all(job->cmd.verb))
		task_post_for_all(reg, task, job);
	else
		task_post(reg, task, job);
}

struct worker *task_lender(const struct task_ctx *task)
{
	return task->loading || task->for_all || task->inherit ? NULL : task->worker;
}

void task_unloaded(struct task_registry *reg, struct engine_ctx *ec)
{
	struct task_ctx *task = ec->task;

	/* Once the thread has ended, its id may have been reused. */
	if (task->traced && task->tid && !task->exited && !task_ctx_is_dead(reg, task))
		task_detach(reg, task->tid);
	if (!task->worker)
		sched_forget(reg->shared.sched, task->slot);
	task_ctx_free(reg, task);
}
