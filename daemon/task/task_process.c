// SPDX-License-Identifier: MIT
/* The other contexts of a load: those of threads that its process has, and of threads and processes
 * that followed threads create. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/task/task_registry_i.h"

void task_ctx_inherit(struct task_ctx *task, const struct task_ctx *from)
{
	task->root = from->root;
	task->root->followed++;
	task->process = from->process;
	task->follow = from->follow;
	task->loading = true;
	task->last_for_all = from->last_for_all;
	task->cpumask = from->cpumask;
	task->has_cpumask = from->has_cpumask;
	task->covered = from->covered;
	task->requester = from->requester;
	task->requester->refs++;
}

/* Does nothing if @child is being destroyed already. If there is no memory, an empty context
 * remains. */
void task_destroy_child(struct task_registry *reg, struct engine_ctx *child)
{
	struct job *job = child && !child->destroying ? calloc(1, sizeof(*job)) : NULL;

	if (!job)
		return;
	*job = (struct job){.ec = child, .cmd.verb = CMD_DESTROY, .done = task_job_done};
	reg->ops->submit(reg->arg, job);
}

void task_destroy_children(struct task_registry *reg, struct engine_ctx *root)
{
	struct task_ctx *task, *next;

	list_for_each_entry_safe (task, next, &reg->tasks, link)
		if (task->root == root && task->ec != root)
			task_destroy_child(reg, task->ec);
}

int task_join(struct task_registry *reg, struct task_ctx *root, pid_t tid, struct task_ctx **out,
	struct err *e)
{
	struct engine_ctx *child = root->ec->ops->make_child(root->ec, tid, e);
	int rc;

	if (!child)
		return -e->no;
	rc = task_ctx_new_like(reg, child, tid, root, out, e);
	if (rc < 0) {
		task_destroy_child(reg, child);
		return rc;
	}
	task_ctx_inherit(*out, root);
	(*out)->tgid = root->tgid;
	return 0;
}

/* Follows the thread; it is no error if it ends before that. The id of a thread that has ended may
 * be that of another one, which the scheduler must not follow. */
static int process_follow(
	struct task_registry *reg, struct task_ctx *task, bool ended, struct err *e)
{
	int rc = ended ? -ESRCH : task_ctx_follow(reg, task, e);

	return rc == -ESRCH ? 0 : rc;
}

int task_load_joined(
	struct task_registry *reg, struct task_ctx *task, pid_t tid, bool ended, struct err *e)
{
	struct command load = {
		.verb = CMD_LOAD,
		.tid = tid,
		.rights = task->requester->rights,
		.limits = task->requester->limits,
	};
	int rc = process_follow(reg, task, ended, e);

	if (rc < 0)
		return rc;
	task->ec->ctx.target.pid = task->tgid;
	return task_ctx_load(reg, task, &load, NULL, e);
}

void task_end_join(struct task_registry *reg, struct task_ctx *task, int rc)
{
	task->traced = rc == 0;
	if (rc < 0)
		task_destroy_child(reg, task->ec);
	else if (!task->worker)
		task_ctx_kick(reg, task);
	task_ctx_loaded(reg, task, rc);
}
