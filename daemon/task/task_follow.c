// SPDX-License-Identifier: MIT
/*
 * Clones, execs and ends of traced threads. The tracer reports them in its own thread; the session
 * thread handles them while the thread concerned is stopped. The workqueue checks whether the
 * requester may trace a thread, as that reads /proc.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/authz/proc.h"
#include "daemon/task/task_registry_i.h"

/* Finds a thread by its id in the daemon's PID namespace, and checks it. */
struct follow_check {
	struct work work;
	struct task_registry *reg;
	pid_t tid;
	struct requester *requester; /* a reference, until the work has ended */
	/* The result, and the thread's process; 0: not found. */
	int rc;
	struct err err;
	pid_t tgid;
};

/* @tid and @other: parent and child, or the ids before and after an exec. */
struct follow_event {
	struct task_event event;
	pid_t tid, other;
	struct task_registry *reg;
	struct follow_check access; /* after an exec */
	struct job check;           /* after access: a job with checks_thread */
};

/* Thread @tid of the process that @req attaches to. */
struct join_event {
	struct task_event event;
	struct tracer_attach *req;
	pid_t tid;
	/* The context that is being loaded; the load continues when this thread has been handled.
	 */
	struct task_ctx *root;
	/* The context of this thread, in its loading phase. */
	struct task_ctx *task;
	struct follow_check access;
	struct job own; /* for the worker of task */
};

/* Runs in a thread of the workqueue. */
static void follow_run_check(struct work *w)
{
	struct follow_check *c = container_of(w, struct follow_check, work);
	struct target target = {.dir = -1};

	c->rc = target_open(getpid(), c->tid, &target, &c->err);
	c->tgid = c->rc == 0 ? target.tgid : 0;
	if (c->rc == 0)
		c->rc = target_check_again(&target, &c->requester->cred, &c->err);
	target_close(&target);
}

/* 0: @done follows, which must begin with follow_end_check(). */
static int follow_begin_check(struct task_registry *reg, struct follow_check *c, pid_t tid,
	struct requester *requester, void (*done)(struct work *w), struct err *e)
{
	int rc;

	c->reg = reg;
	c->tid = tid;
	c->requester = requester;
	c->work = (struct work){.uid = requester->cred.uid, .run = follow_run_check, .done = done};
	rc = reg->ops->work(reg->arg, &c->work, e);
	if (rc == 0)
		requester->refs++;
	return rc;
}

static int follow_end_check(struct follow_check *c)
{
	requester_unref(c->requester);
	if (c->work.ended)
		c->rc = err_set(&c->err, ENODEV, "the daemon is shutting down");
	return c->rc;
}

static void follow_send(struct task_registry *reg, pid_t tid, pid_t other,
	void (*handle)(struct task_registry *reg, struct task_event *event))
{
	struct follow_event *ev = calloc(1, sizeof(*ev));

	/* If there is no memory, a child runs on without being followed. */
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
	pid_t tgid;             /* the parent's process */
	struct follow_check access;
	struct job own; /* for the child's worker */
};

static bool follow_counts(const struct clone_event *clone)
{
	enum ctx_state state = clone->job.cmd.info.state;

	return state == CTX_RUNNING || state == CTX_MASKED;
}

/* Loads the child's context, and starts it if its parent counts, so that the child is counted from
 * its first instruction on. */
static int follow_begin_slot(struct clone_event *clone, struct err *e)
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
	int rc = task_ctx_follow(clone->reg, task, e);

	if (rc < 0)
		return rc;
	task->traced = true;
	task->ec->ctx.target.pid = task->tgid;
	return task_ctx_load(clone->reg, task, &load, follow_counts(clone) ? &start : NULL, e);
}

/* Reports that child @tid runs on without being followed. */
static void follow_child_failed(struct task_registry *reg, struct engine_ctx *root,
	struct engine_ctx *child, pid_t tid, struct err *e)
{
	task_destroy_child(reg, child);
	root->ops->child_failed(root, tid, e);
}

/* True: the parent was unloaded meanwhile, so its children are not followed either. */
static bool follow_is_detached(const struct job *job)
{
	return job->rc == 0 && job->cmd.info.state == CTX_UNLOADED && !job->cmd.info.ended;
}

static void follow_end_clone(struct clone_event *clone, int rc, struct err *e)
{
	struct task_registry *reg = clone->reg;
	struct task_ctx *task = clone->child;
	pid_t tid = task->tid;

	if (rc == 0)
		tracer_cont(reg->shared.tracer, tid);
	else if (!task->exited)
		task_detach(reg, tid);
	if (follow_is_detached(&clone->job))
		task_destroy_child(reg, task->ec);
	else if (rc < 0)
		follow_child_failed(reg, task->root, task->ec, tid, e);
	task_ctx_loaded(reg, task, rc);
	free(clone);
}

/* ESRCH: the child was killed. The thread that was found or opened may be another one with its id.
 */
static int follow_check_killed(const struct task_ctx *task, struct err *e)
{
	return task->exited ? err_set(e, ESRCH, "it was killed before it executed an instruction")
			    : 0;
}

/* Removes the child's context, which its worker has loaded but which does not count. The removal
 * detaches the thread. */
static void follow_remove_loaded(struct clone_event *clone, struct err *e)
{
	struct task_registry *reg = clone->reg;
	struct task_ctx *task = clone->child;

	if (!task->exited)
		tracer_cont(reg->shared.tracer, task->tid);
	follow_child_failed(reg, task->root, task->ec, clone->access.tid, e);
	task_ctx_loaded(reg, task, 0);
	free(clone);
}

static void follow_loaded(struct job *own)
{
	struct clone_event *clone = container_of(own, struct clone_event, own);
	/* If the worker has loaded the context, it was the start that failed. */
	bool loaded = own->rc == 0 || own->cmd.verb == CMD_START;
	int rc = own->rc;

	if (rc == 0)
		rc = follow_check_killed(clone->child, &own->err);
	if (loaded && rc < 0)
		follow_remove_loaded(clone, &own->err);
	else
		follow_end_clone(clone, rc, &own->err);
}

static int follow_begin_active(struct clone_event *clone, struct err *e)
{
	int rc = task_charge_interrupts(clone->reg, clone->child->ec, e);

	if (rc == 0)
		task_post_load(clone->reg, clone->child,
			follow_counts(clone) ? JOB_FIRST_LOAD_AND_START
					     : JOB_FIRST_LOAD_KEEPS_WORKER,
			LOAD_LIVES, &clone->own, follow_loaded);
	return rc;
}

static void follow_begin(struct clone_event *clone, int rc, struct err *e)
{
	struct task_ctx *task = clone->child;

	if (rc == 0)
		rc = follow_check_killed(task, e);
	if (rc == 0)
		task->tgid = clone->access.tgid;
	if (rc == 0 && task->worker) {
		rc = follow_begin_active(clone, e);
		if (rc == 0)
			return;
	} else if (rc == 0) {
		rc = follow_begin_slot(clone, e);
	}
	follow_end_clone(clone, rc, e);
}

static void follow_clone_checked(struct work *w)
{
	struct follow_check *c = container_of(w, struct follow_check, work);
	int rc = follow_end_check(c);

	follow_begin(container_of(c, struct clone_event, access), rc, &c->err);
}

static void follow_cloned(struct job *job)
{
	struct clone_event *clone = container_of(job, struct clone_event, job);
	struct task_ctx *task = clone->child;
	struct err *e = &job->err;
	int rc = follow_is_detached(job) ? -ESRCH : job->rc;

	if (!task->process) {
		bool thread = rc == 0 && proc_is_thread_of(task->tid, clone->tgid);

		clone->access.tgid = thread ? clone->tgid : task->tid;
		follow_begin(clone, rc, e);
		return;
	}
	/* The child's creator may have ended before it was checked itself. */
	if (rc == 0)
		rc = follow_begin_check(clone->reg, &clone->access, task->tid, task->requester,
			follow_clone_checked, e);
	if (rc < 0)
		follow_end_clone(clone, rc, e);
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
	rc = task_ctx_new_like(reg, *child, tid, parent, &clone->child, e);
	if (rc == 0)
		task_ctx_inherit(clone->child, parent);
	return rc;
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
	if (!parent->follow && !proc_is_thread_of(ev->other, parent->tgid)) {
		task_detach(reg, ev->other);
		return;
	}
	if (follow_make_child(reg, parent, ev->other, clone, &child, &e) < 0) {
		task_detach(reg, ev->other);
		follow_child_failed(reg, parent->root, child, ev->other, &e);
		return;
	}
	clone->reg = reg;
	clone->tgid = parent->tgid;
	clone->access.tid = ev->other;
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

/* One of the threads has been handled. The load may be waiting for the last one. */
static void follow_end_join(struct join_event *ev)
{
	struct task_joining *joining = ev->root ? ev->root->joining : NULL;

	if (joining && joining->err.no)
		atomic_store(&ev->req->stop, true);
	if (atomic_fetch_sub(&ev->req->unhandled, 1) == 1 && joining && joining->attached)
		event_send(ev->access.reg->shared.events, &take_ptr(&joining->attached)->event);
	free(ev);
}

static bool follow_may_join(const struct task_ctx *root)
{
	return root && root->joining && !root->joining->err.no;
}

/* Ends the loading of a thread's context. After an exec, the thread may have another id by now, or
 * none. */
static void follow_finish_join(
	struct task_registry *reg, struct join_event *ev, int rc, const struct err *e)
{
	struct task_ctx *root = ev->root, *task = ev->task;
	bool exited = task->exited;
	pid_t now = task->tid ? task->tid : ev->tid;

	task_end_join(reg, task, rc);
	if (rc == 0)
		return;
	if (follow_may_join(root))
		root->joining->err = *e;
	if (!exited)
		task_detach(reg, now);
}

static void follow_join_loaded(struct job *own)
{
	struct join_event *ev = container_of(own, struct join_event, own);

	follow_finish_join(ev->access.reg, ev, own->rc, &own->err);
	follow_end_join(ev);
}

/* 1: follow_join_loaded() follows. */
static int follow_load_join(struct task_registry *reg, struct join_event *ev, int rc, struct err *e)
{
	const struct follow_check *c = &ev->access;
	struct task_ctx *root = ev->root, *task = ev->task;
	struct command clone = {.verb = CMD_CLONE, .into = &task->ec->ctx};
	bool ended =
		task->exited || !task->tid || rc == -ESRCH || (c->tgid && c->tgid != root->tgid);

	if (!follow_may_join(root))
		return err_set(e, ECANCELED, "another thread cannot be loaded");
	if (rc < 0 && !ended)
		return rc;
	/* The root is not in the registers yet, so the session thread can read it. */
	rc = exec_command(&reg->x, &root->ec->ctx, &clone, e);
	if (rc < 0)
		return rc;
	if (!task->worker)
		return task_load_joined(reg, task, ev->tid, ended, e);
	rc = task_charge_interrupts(reg, task->ec, e);
	if (rc < 0)
		return rc;
	task_post_load(reg, task, JOB_FIRST_LOAD_KEEPS_WORKER,
		ended ? LOAD_HAS_ENDED : LOAD_MAY_HAVE_ENDED, &ev->own, follow_join_loaded);
	return 1;
}

static void follow_join_checked(struct work *w)
{
	struct follow_check *c = container_of(w, struct follow_check, work);
	struct join_event *ev = container_of(c, struct join_event, access);
	int rc = follow_load_join(c->reg, ev, follow_end_check(c), &c->err);

	if (rc > 0)
		return;
	follow_finish_join(c->reg, ev, rc, &c->err);
	follow_end_join(ev);
}

/* Checks the thread, as each thread has its own credentials. 0: follow_join_checked() follows. */
static int follow_begin_join(struct task_registry *reg, struct join_event *ev, struct err *e)
{
	int rc;

	if (task_join(reg, ev->root, ev->tid, &ev->task, e) < 0) {
		task_detach(reg, ev->tid);
		return -e->no;
	}
	rc = follow_begin_check(
		reg, &ev->access, ev->tid, ev->root->requester, follow_join_checked, e);
	if (rc < 0)
		follow_finish_join(reg, ev, rc, e);
	return rc;
}

static void follow_handle_joined(struct task_registry *reg, struct task_event *event)
{
	struct join_event *ev = container_of(event, struct join_event, event);
	struct task_ctx *root = task_ctx_find(reg, ev->req->tid);
	const struct task_ctx *task = task_ctx_find_same(reg, ev->tid);
	struct err *e = root && root->joining ? &root->joining->err : NULL;

	ev->root = root;
	ev->access.reg = reg;
	if (!reg->shared.tracer) {
		free(ev);
		return;
	}
	if (!task && !task_detaching(reg, ev->tid)) {
		if (!follow_may_join(root))
			task_detach(reg, ev->tid);
		else if (follow_begin_join(reg, ev, &ev->access.err) == 0)
			return;
		else
			*e = ev->access.err;
	} else if (e && !task) {
		err_set(e, EAGAIN, "thread %d is still being detached: try again", ev->tid);
	} else if (e && task->root != root->ec) {
		err_set(e, EBUSY, "thread %d is monitored already by context '%s' of uid %u",
			ev->tid, task->ec->name, task->ec->uid);
	}
	follow_end_join(ev);
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

/* Checks that the thread still has its events: the kernel removes them when it executes some
 * programs, even if the requester may trace it. The thread waits for the result. */
static void follow_check_events(struct follow_event *ev, struct engine_ctx *ec)
{
	ev->check = (struct job){
		.ec = ec,
		.cmd.verb = CMD_POLL,
		.done = follow_checked,
		.session_done = true,
		.kind = JOB_CHECK_THREAD,
	};
	ev->reg->ops->submit(ev->reg->arg, &ev->check);
}

/* Ends the check after an exec. If the thread is not followed for the same load any more, an unload
 * has detached it. If it was killed, another one with its id may have been checked. */
static void follow_exec_checked(struct work *w)
{
	struct follow_check *c = container_of(w, struct follow_check, work);
	CLEANUP_FREE struct follow_event *ev = container_of(c, struct follow_event, access);
	struct task_registry *reg = c->reg;
	struct task_ctx *task = task_ctx_find(reg, c->tid);
	bool same = task && task->requester == c->requester && !task->exited;
	int rc = follow_end_check(c);

	if (!reg->shared.tracer || !same)
		return;
	if (rc < 0)
		follow_end(reg, task, &c->err);
	else if (task->worker)
		follow_check_events(take_ptr(&ev), task->ec);
	else
		tracer_cont(reg->shared.tracer, c->tid);
}

/* The new program may have privileges that the requester lacks. */
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
		/* A detach with the old id may have come too late. */
		tracer_detach(reg->shared.tracer, ev->other);
		return;
	}
	if (ev->tid != ev->other)
		task_ctx_set_tid(reg, task, ev->other);
	if (follow_begin_check(
		    reg, &ev->access, ev->other, task->requester, follow_exec_checked, &e) < 0)
		follow_end(reg, task, &e);
	else
		ev = NULL;
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

/* --- A detach that may never end */

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
