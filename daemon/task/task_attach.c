// SPDX-License-Identifier: MIT
/* Following a thread, and handing its context to the ctxsw threads. */
#include "daemon/task/task_registry_i.h"

unsigned task_first_cpu(const struct cpus *cpus)
{
	unsigned cpu = 0;

	while (!cpus_has(cpus, cpu))
		cpu++;
	return cpu;
}

/* Call it before the last check of rights, so that no exec escapes both. */
static int task_set_requester(struct task_registry *reg, const struct task_ctx *task, struct err *e)
{
	const struct credentials *cred = &task->requester->cred;
	struct sched_requester requester = {
		.permitted = cred->permitted,
		.uid = cred->uid,
		.gid = cred->gid,
		.user_ns = (sched_u32)cred->user_ns,
	};

	return sched_set_requester(reg->shared.sched, task->slot, &requester, e);
}

int task_ctx_follow(struct task_registry *reg, struct task_ctx *task, struct err *e)
{
	int rc = sched_follow(reg->shared.sched, task->slot, task->tid, e);

	if (rc < 0)
		return rc;
	if (task->has_cpumask)
		rc = sched_set_cpumask(reg->shared.sched, task->slot, &task->cpumask, e);
	if (rc == 0 && task->check_exec)
		rc = task_set_requester(reg, task, e);
	if (rc < 0)
		sched_forget(reg->shared.sched, task->slot);
	return rc;
}

int task_ctx_load(struct task_registry *reg, struct task_ctx *task, struct command *load,
	struct command *start, struct err *e)
{
	struct context *ctx = &task->ec->ctx;
	struct sched_slot *s = sched_slot(reg->shared.sched, task->slot);
	int rc;

	load->load.pmu = task_cpus_pmu(reg->shared.be, &task->cpumask);
	rc = exec_command(&reg->x, ctx, load, e);
	if (rc < 0) {
		sched_forget(reg->shared.sched, task->slot);
		return rc;
	}
	/* A start of a context that is in no registers succeeds. */
	if (start)
		exec_command(&reg->x, ctx, start, e);
	__atomic_store_n(&s->enabled, ctx->state == CTX_RUNNING, __ATOMIC_RELEASE);
	engine_ctx_changed(task->ec, reg->shared.events);
	/* From here on, the context belongs to the ctxsw threads. */
	atomic_store(&reg->shared.slots[task->slot].word,
		slot_word(SLOT_SAVED, task_first_cpu(&task->covered)));
	return 0;
}

void task_ctx_loaded(struct task_registry *reg, struct task_ctx *task, int rc)
{
	struct engine_ctx *ec = task->ec;

	task->loading = false;
	if (rc < 0)
		task_ctx_free(reg, task);
	else if (task->end_due || task_ctx_is_dead(reg, task))
		task_ctx_end(reg, task);
	reg->ops->resubmit(reg->arg, ec);
}
