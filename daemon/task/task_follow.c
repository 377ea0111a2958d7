// SPDX-License-Identifier: MIT
/*
 * Clones, execs and ends of traced threads. The tracer reports them in its own thread; the session
 * thread handles them while the thread concerned is stopped.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/task/task_registry_i.h"

/* @tid and @other: parent and child, or the ids before and after an exec. */
struct follow_event {
	struct task_event event;
	pid_t tid, other;
	struct task_registry *reg;
	struct job check; /* after an exec: checks_thread */
};

/* Thread @tid of the process that @req attaches to. */
struct join_event {
	struct task_event event;
	struct tracer_attach *req;
	pid_t tid;
};

static void follow_send(struct task_registry *reg, pid_t tid, pid_t other,
	void (*handle)(struct task_registry *reg, struct task_event *event))
{
	struct follow_event *ev = calloc(1, sizeof(*ev));

	/* Without memory, a child runs on without being followed. */
	if (!ev) {
		tracer_cont(reg->shared.tracer, other);
		return;
	}
	*ev = (struct follow_event){.event = {.event.kind = EVENT_TASK, .handle = handle},
		.tid = tid,
		.other = other,
		.reg = reg};
	event_send(reg->shared.events, &ev->event.event);
}

/* --- Clone */

struct clone_event {
	struct job job; /* CMD_CLONE, of the parent */
	struct task_registry *reg;
	struct task_ctx *child; /* loading */
};

/* Loads the child's context, and starts it if its parent counts: then the child counts from its
 * first instruction on. */
static int follow_begin(struct clone_event *clone, const struct command *parent, struct err *e)
{
	struct task_ctx *task = clone->child;
	struct command load = {
		.verb = CMD_LOAD,
		.tid = task->tid,
		.rights = task->requester->rights,
		.limits = task->requester->limits,
	};
	struct command start = {.verb = CMD_START,
		.rights = task->requester->rights,
		.limits = task->requester->limits};
	bool counts = parent->info.state == CTX_RUNNING || parent->info.state == CTX_MASKED;
	struct target target = {.dir = -1};
	int rc = target_open(getpid(), task->tid, &target, e);

	/* Its creator may have ended before it was checked. */
	if (rc == 0 && task->process)
		rc = target_check_again(&target, &task->requester->cred, e);
	if (rc == 0)
		rc = task_ctx_follow(clone->reg, task, e);
	if (rc == 0) {
		task->traced = true;
		task->tgid = target.tgid;
		task->ec->ctx.target.pid = target.tgid;
		rc = task_ctx_load(clone->reg, task, &load, counts ? &start : NULL, e);
	}
	target_close(&target);
	return rc;
}

/* The child runs on without being followed. */
static void follow_child_failed(struct task_registry *reg, struct engine_ctx *root,
	struct engine_ctx *child, pid_t tid, struct err *e)
{
	task_destroy_child(reg, child);
	root->ops->child_failed(root, tid, e);
}

static void follow_cloned(struct job *job)
{
	struct clone_event *clone = container_of(job, struct clone_event, job);
	struct task_registry *reg = clone->reg;
	struct task_ctx *task = clone->child;
	pid_t tid = task->tid;
	struct err e = job->err;
	/* The parent was unloaded meanwhile, so its children are not followed either. */
	bool detached = job->rc == 0 && job->cmd.info.state == CTX_UNLOADED && !job->cmd.info.ended;
	int rc = job->rc;

	if (detached)
		rc = -ESRCH;
	else if (rc == 0)
		rc = follow_begin(clone, &job->cmd, &e);
	if (rc == 0)
		tracer_cont(reg->shared.tracer, tid);
	else if (!task->exited)
		task_detach(reg, tid);
	if (detached)
		task_destroy_child(reg, task->ec);
	else if (rc < 0)
		follow_child_failed(reg, task->root, task->ec, tid, &e);
	task_ctx_loaded(reg, task, rc);
	free(clone);
}

static int follow_make_child(struct task_registry *reg, struct task_ctx *parent, pid_t tid,
	struct clone_event *clone, struct engine_ctx **child, struct err *e)
{
	int rc;

	*child = NULL;
	if (!clone)
		return err_set(e, ENOMEM, "no memory");
	*child = parent->root->ops->make_child(parent->root, tid, e);
	if (!*child)
		return -e->no;
	rc = task_ctx_new(reg, *child, tid, &clone->child, e);
	if (rc == 0)
		task_ctx_inherit(clone->child, parent);
	return rc;
}

/* Its process; 0: it has ended. */
static pid_t follow_process(pid_t tid)
{
	struct target target = {.dir = -1};
	struct err ignored;
	int rc = target_open(getpid(), tid, &target, &ignored);

	target_close(&target);
	return rc < 0 ? 0 : target.tgid;
}

static void follow_handle_born(struct task_registry *reg, struct task_event *event)
{
	CLEANUP_FREE struct follow_event *ev = container_of(event, struct follow_event, event);
	struct task_ctx *parent = task_ctx_find(reg, ev->tid);
	CLEANUP_FREE struct clone_event *clone = calloc(1, sizeof(*clone));
	struct engine_ctx *child;
	struct err e;

	if (!reg->shared.tracer)
		return; /* tracer_free() has detached all */
	if (!parent || !parent->root->ops->make_child) {
		task_detach(reg, ev->other);
		return;
	}
	if (!parent->follow && follow_process(ev->other) != parent->tgid) {
		task_detach(reg, ev->other);
		return;
	}
	if (follow_make_child(reg, parent, ev->other, clone, &child, &e) < 0) {
		task_detach(reg, ev->other);
		follow_child_failed(reg, parent->root, child, ev->other, &e);
		return;
	}
	clone->reg = reg;
	clone->job = (struct job){
		.ec = parent->ec,
		.cmd = {.verb = CMD_CLONE, .into = &clone->child->ec->ctx},
		.done = follow_cloned,
		.session_done = true,
	};
	reg->ops->submit(reg->arg, &take_ptr(&clone)->job);
}

static void follow_born(void *arg, pid_t parent, pid_t child)
{
	follow_send(arg, parent, child, follow_handle_born);
}

/* --- Threads of a process that is being loaded */

static void follow_join(struct task_registry *reg, struct task_ctx *root, pid_t tid)
{
	struct err e;

	if (root && root->join_err && !root->join_err->no) {
		if (task_join(reg, root, tid, &e) == 0)
			return;
		*root->join_err = e;
	}
	task_detach(reg, tid);
}

static void follow_handle_joined(struct task_registry *reg, struct task_event *event)
{
	CLEANUP_FREE struct join_event *ev = container_of(event, struct join_event, event);
	struct task_ctx *root = task_ctx_find(reg, ev->req->tid);
	const struct task_ctx *task = task_ctx_find(reg, ev->tid);
	struct err *e = root ? root->join_err : NULL;

	if (!reg->shared.tracer)
		return;
	if (!task && !task_detaching(reg, ev->tid))
		follow_join(reg, root, ev->tid);
	else if (e && !task)
		err_set(e, EAGAIN, "thread %d is still being detached: try again", ev->tid);
	else if (e && task->root != root->ec)
		err_set(e, EBUSY, "thread %d is monitored already, by context '%s' of uid %u",
			ev->tid, task->ec->name, task->ec->uid);
	if (e && e->no)
		atomic_store(&ev->req->stop, true);
	atomic_fetch_sub(&ev->req->unhandled, 1);
}

static bool follow_joined(void *arg, struct tracer_attach *req, pid_t tid)
{
	struct task_registry *reg = arg;
	struct join_event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return false;
	*ev = (struct join_event){
		.event = {.event.kind = EVENT_TASK, .handle = follow_handle_joined},
		.req = req,
		.tid = tid};
	event_send(reg->shared.events, &ev->event.event);
	return true;
}

/* --- Exec */

/* The new program may have privileges that the requester lacks. */
static int follow_check_access(const struct task_ctx *task, struct err *e)
{
	struct target target = {.dir = -1};
	int rc = target_open(getpid(), task->tid, &target, e);

	if (rc == 0)
		rc = target_check_again(&target, &task->requester->cred, e);
	target_close(&target);
	return rc;
}

static void follow_end(struct task_registry *reg, struct task_ctx *task, struct err *e)
{
	err_prefix(e, "it is no longer followed");
	task->ec->ops->report_error(task->ec, e);
	task_ctx_end(reg, task); /* which detaches it */
}

static void follow_checked(struct job *job)
{
	CLEANUP_FREE struct follow_event *ev = container_of(job, struct follow_event, check);
	struct task_registry *reg = ev->reg;

	if (job->rc < 0 && job->ec->task)
		follow_end(reg, job->ec->task, &job->err);
	else if (reg->shared.tracer)
		tracer_cont(reg->shared.tracer, ev->other);
}

/* The kernel removes a thread's events when it executes some programs, whatever the requester may
 * trace. The thread waits until this is known. */
static void follow_check_events(struct follow_event *ev, struct engine_ctx *ec)
{
	ev->check = (struct job){
		.ec = ec,
		.cmd.verb = CMD_POLL,
		.done = follow_checked,
		.session_done = true,
		.checks_thread = true,
	};
	ev->reg->ops->submit(ev->reg->arg, &ev->check);
}

static void follow_handle_exec(struct task_registry *reg, struct task_event *event)
{
	CLEANUP_FREE struct follow_event *ev = container_of(event, struct follow_event, event);
	struct detaching *d = task_detaching(reg, ev->tid);
	struct task_ctx *task = task_ctx_find(reg, ev->tid);
	struct err e;

	if (!reg->shared.tracer)
		return;
	if (d)
		task_detaching_set_tid(reg, d, ev->other);
	if (!task) {
		/* A detach by the old id may have come too late. */
		tracer_detach(reg->shared.tracer, ev->other);
		return;
	}
	if (ev->tid != ev->other)
		task_ctx_set_tid(reg, task, ev->other);
	if (follow_check_access(task, &e) < 0)
		follow_end(reg, task, &e);
	else if (task->worker)
		follow_check_events(take_ptr(&ev), task->ec);
	else
		tracer_cont(reg->shared.tracer, ev->other);
}

static void follow_executed(void *arg, pid_t was, pid_t now)
{
	follow_send(arg, was, now, follow_handle_exec);
}

/* --- Exit. The scheduler reports it as well, but not on CPUs without a ctxsw thread. */

static void follow_handle_ended(struct task_registry *reg, struct task_event *event)
{
	CLEANUP_FREE struct follow_event *ev = container_of(event, struct follow_event, event);
	struct detaching *d = task_detaching(reg, ev->tid);
	struct task_ctx *task = task_ctx_find(reg, ev->tid);

	if (d) {
		task_detached(reg, d);
	} else if (task) {
		task->exited = true;
		task_ctx_end(reg, task); /* while it is loading, task_ctx_loaded() does it */
	}
}

static void follow_ended(void *arg, pid_t tid)
{
	follow_send(arg, tid, 0, follow_handle_ended);
}

/* --- A detach that may take for ever */

static void follow_handle_late(struct task_registry *reg, struct task_event *event)
{
	CLEANUP_FREE struct follow_event *ev = container_of(event, struct follow_event, event);
	struct detaching *d = task_detaching(reg, ev->tid);

	if (d)
		task_detach_late(d);
}

static void follow_late(void *arg, pid_t tid)
{
	follow_send(arg, tid, 0, follow_handle_late);
}

const struct tracer_ops task_tracer_ops = {
	.born = follow_born,
	.joined = follow_joined,
	.exec = follow_executed,
	.ended = follow_ended,
	.detach_late = follow_late,
};
