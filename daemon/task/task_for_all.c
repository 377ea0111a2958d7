// SPDX-License-Identifier: MIT
/* Starts, stops and unloads all threads of a load together, which is long work (task_work.c). */
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/task/task_registry_i.h"

void task_job_done(struct job *job)
{
	free(job);
}

static void for_all_post(struct task_registry *reg, struct task_ctx *task, struct job *job)
{
	unsigned cpu;

	job->for_task = true;
	if (task->worker) {
		worker_post(task->worker, job);
		return;
	}
	cpu = slot_word_cpu(atomic_load(&reg->shared.slots[task->slot].word));
	ctxsw_post(atomic_load(&reg->shared.ctxsw_threads[cpu]), job);
}

void task_post(struct task_registry *reg, struct task_ctx *task, struct job *job)
{
	engine_ctx_begin_job(job->ec);
	for_all_post(reg, task, job);
}

/* If there is no memory, the thread continues unchanged. */
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

static void for_all_finish(struct task_registry *reg, struct task_ctx *root)
{
	struct job *job = take_ptr(&root->for_all);

	atomic_store(&job->state, JOB_WAITING);
	for_all_post(reg, root, job);
	reg->ops->resubmit(reg->arg, root->ec);
}

/* A part of this work is one thread. */
static bool for_all_some(struct task_registry *reg, struct task_work *w, unsigned *left)
{
	struct task_ctx *root = container_of(w, struct task_ctx, for_all_work), *task;

	list_for_each_entry (task, &reg->tasks, link) {
		if (task->root != root->ec || task->last_for_all == root->last_for_all)
			continue;
		if (!*left)
			return false;
		--*left;
		task->last_for_all = root->last_for_all;
		for_all_submit(reg, task, root->for_all);
	}
	for_all_finish(reg, root);
	return true;
}

/* Until @job is posted, it is in flight, so @root is not freed; and it has begun, so it cannot be
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
	root->for_all_work.some = for_all_some;
	engine_ctx_begin_job(job->ec);
	task_work_begin(reg, root->ec->uid, &root->for_all_work);
}
