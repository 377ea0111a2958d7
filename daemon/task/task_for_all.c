// SPDX-License-Identifier: MIT
/*
 * A thread is started, stopped and unloaded together with all others of its load. There may be
 * thousands, and each costs the session thread a job and, at unload, an event. So jobs are
 * submitted some at a time, in turn with requests and with other loads.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/task/task_registry_i.h"

enum { FOR_ALL_SLICE = 128 };

void task_job_done(struct job *job)
{
	free(job);
}

static void for_all_post(struct task_registry *reg, struct task_ctx *task, struct job *job)
{
	unsigned cpu = slot_word_cpu(atomic_load(&reg->shared.slots[task->slot].word));

	job->for_task = true;
	ctxsw_post(atomic_load(&reg->shared.ctxsw_threads[cpu]), job);
}

void task_post_ctxsw(struct task_registry *reg, struct task_ctx *task, struct job *job)
{
	atomic_fetch_add(&job->ec->inflight, 1);
	for_all_post(reg, task, job);
}

/* Without memory, the thread goes on as it is. */
static void for_all_submit(struct task_registry *reg, struct task_ctx *task, const struct job *job)
{
	struct job *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return;
	copy->ec = task->ec;
	copy->cmd = job->cmd;
	copy->done = task_job_done;
	reg->ops->submit(reg->arg, copy);
}

/* Submits some of the jobs that are left. True: none is left then. */
static bool for_all_slice(struct task_registry *reg, const struct task_ctx *root)
{
	struct task_ctx *task;
	unsigned n = 0;

	list_for_each_entry (task, &reg->tasks, link) {
		if (task->root != root->ec || task->last_for_all == root->last_for_all)
			continue;
		if (n++ == FOR_ALL_SLICE)
			return false;
		task->last_for_all = root->last_for_all;
		for_all_submit(reg, task, root->for_all);
	}
	return true;
}

static void for_all_finish(struct task_registry *reg, struct task_ctx *root)
{
	struct job *job = take_ptr(&root->for_all);

	atomic_store(&job->state, JOB_WAITING);
	for_all_post(reg, root, job);
}

/* The event is under way while the list has an entry. */
static void for_all_add(struct task_registry *reg, struct task_ctx *root)
{
	if (list_empty(&reg->for_all))
		event_send(reg->shared.events, &reg->next_for_all.event);
	list_add_tail(&root->for_all_link, &reg->for_all);
}

static void for_all_handle_next(struct task_registry *reg, struct task_event *event)
{
	struct task_ctx *root = list_entry(reg->for_all.next, struct task_ctx, for_all_link);

	list_del(&root->for_all_link);
	if (!list_empty(&reg->for_all))
		event_send(reg->shared.events, &event->event);
	if (!for_all_slice(reg, root)) {
		for_all_add(reg, root);
		return;
	}
	for_all_finish(reg, root);
	reg->ops->resubmit(reg->arg, root->ec);
}

void task_for_all_init(struct task_registry *reg)
{
	list_init(&reg->for_all);
	reg->next_for_all.event.kind = EVENT_TASK;
	reg->next_for_all.handle = for_all_handle_next;
}

/* Until it is posted, @job is in flight, so @root is not freed; and it has begun, so it cannot be
 * cancelled. */
void task_post_for_all(struct task_registry *reg, struct task_ctx *root, struct job *job)
{
	job->rc = job_begin(job);
	if (job->rc < 0) {
		job->done(job);
		return;
	}
	root->last_for_all = ++reg->for_all_count;
	root->for_all = job;
	atomic_fetch_add(&job->ec->inflight, 1);
	if (for_all_slice(reg, root))
		for_all_finish(reg, root);
	else
		for_all_add(reg, root);
}
