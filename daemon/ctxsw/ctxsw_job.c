// SPDX-License-Identifier: MIT
/* Commands for contexts that are loaded on threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "daemon/ctxsw/ctxsw_i.h"

/* An event set as it was before a command wrote to it. */
struct saved_set {
	struct evtset *set;
	uint64_t pmc[PMU_MAX_PMCS];
	struct pmd_state pmd[PMU_MAX_PMDS];
};

static struct saved_set *job_save_sets(struct context *ctx, const struct command *cmd, unsigned *n)
{
	struct saved_set *old = calloc(cmd->vector.nregs + 1, sizeof(*old));

	*n = 0;
	for (unsigned i = 0; old && i < cmd->vector.nregs; i++) {
		struct evtset *set =
			cmd->vector.regs[i].pmd ? NULL : ctx_set(ctx, cmd->vector.regs[i].set);
		unsigned k = 0;

		while (k < *n && old[k].set != set)
			k++;
		if (!set || k < *n)
			continue;
		old[k].set = set;
		memcpy(old[k].pmc, set->pmc, ctx->pmu->npmcs * sizeof(old->pmc[0]));
		memcpy(old[k].pmd, set->pmd, ctx->pmu->npmds * sizeof(old->pmd[0]));
		++*n;
	}
	return old;
}

static void job_restore_sets(struct context *ctx, const struct saved_set *old, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		struct evtset *set = old[k].set;

		memcpy(set->pmc, old[k].pmc, ctx->pmu->npmcs * sizeof(old->pmc[0]));
		memcpy(set->pmd, old[k].pmd, ctx->pmu->npmds * sizeof(old->pmd[0]));
		set->calibrated = false;
		ctx_needs_changed(ctx);
	}
}

static int job_prepare(struct ctxsw_thread *ct, const struct task_ctx *task, struct err *e)
{
	struct context *ctx = &task->ec->ctx;

	if (!ctx->needs.calibrated && ctxsw_check_budget(ct, task, e) < 0)
		return -e->no;
	return ctxsw_prepare(ct, ctx, e);
}

/* Writes registers. If this CPU cannot provide what the PMCs ask for, no register of the context
 * changes. */
static int job_write(
	struct ctxsw_thread *ct, const struct task_ctx *task, struct command *cmd, struct err *e)
{
	struct context *ctx = &task->ec->ctx;
	unsigned n;
	CLEANUP_FREE struct saved_set *old = job_save_sets(ctx, cmd, &n);
	struct err prepare_err;
	int rc;

	if (!old)
		return err_set(e, ENOMEM, "no memory");
	rc = exec_command(&ct->x, ctx, cmd, e);
	if (!ct->x.cpu || job_prepare(ct, task, &prepare_err) == 0)
		return rc;
	job_restore_sets(ctx, old, n);
	if (cmd->vector.nregs)
		cmd->vector.regs[0].fault = FAULT_REFUSED;
	return err_copy(e, &prepare_err);
}

static int job_execute(
	struct ctxsw_thread *ct, const struct task_ctx *task, struct command *cmd, struct err *e)
{
	return cmd->verb == CMD_WRITE ? job_write(ct, task, cmd, e)
				      : exec_command(&ct->x, &task->ec->ctx, cmd, e);
}

/* The context has started. Loses its counts if its thread is running on a CPU of its mask where it
 * is not counted. */
static void job_lose_uncounted(const struct ctxsw_thread *ct, const struct task_ctx *task)
{
	struct sched_slot *s = sched_slot(ct->shared->sched, task->slot);
	const struct sched_cpu *c;
	sched_u64 taker;
	unsigned cpu;

	/* Either this sees the taker, or the ctxsw thread that sets it sees the slot enabled. As it
	 * is enabled already, the value does not change: only the order matters. */
	__atomic_store_n(&s->enabled, 1, __ATOMIC_SEQ_CST);
	cpu = ctxsw_load_word(&s->cpu);
	if (!ctxsw_load_word(&s->running) || !cpus_has(&task->cpumask, cpu))
		return;
	c = sched_cpu(ct->shared->sched, cpu);
	taker = __atomic_load_n(&c->taker, __ATOMIC_SEQ_CST);
	if (taker)
		task_slot_lose_taken(&task->ec->ctx, taker);
	else if (!ctxsw_load_word(&c->ctxsw_tid))
		ctx_lose(&task->ec->ctx, LOST_UNCOVERED);
}

/* Ends the job before the slot is released, so that a later job, which may unload the context, ends
 * after it. */
static void job_release_slot(
	struct ctxsw_thread *ct, struct job *job, struct task_ctx *task, bool unloaded)
{
	if (!unloaded) {
		engine_ctx_end_job(job->ec, ct->shared->events, false);
		task_slot_release(ct, task);
		return;
	}
	atomic_store(&task_slot_of(ct, task->slot)->word, slot_word(SLOT_FREE, ct->cpu));
	engine_ctx_end_job(job->ec, ct->shared->events, true);
}

/* Lets a context count again that was not counted because its user's budget was spent: at a write,
 * start or restart, but not before that window of the budget is over. */
static void job_renew(struct task_ctx *task, enum cmd_verb verb)
{
	if (!task->spent_until || (verb != CMD_WRITE && verb != CMD_START && verb != CMD_RESTART))
		return;
	if (nsec_now(CLOCK_MONOTONIC) >= task->spent_until)
		task->spent_until = 0;
	else if (task->ec->ctx.state == CTX_RUNNING)
		ctx_lose(&task->ec->ctx, LOST_BUDGET);
}

/* Call it with the slot locked. */
static void job_run(struct ctxsw_thread *ct, struct job *job, struct task_ctx *task)
{
	struct context *ctx = &job->ec->ctx;
	bool starts = !task_slot_wants_registers(task);
	unsigned slot = task->slot;

	task_slot_sync_task(ct, task);
	ctxsw_gap_update(ct, task);
	job->rc = job_begin(job);
	if (job->rc == 0)
		job->rc = job_execute(ct, task, &job->cmd, &job->err);
	job_renew(task, job->cmd.verb);
	task_slot_publish(ct, task);
	starts = starts && task_slot_wants_registers(task);
	if (starts) {
		task->runtime = RUNTIME_UNKNOWN;
		job_lose_uncounted(ct, task);
		engine_ctx_changed(task->ec, ct->shared->events);
	}
	task_slot_report_death(ct, slot);
	ctxsw_charge_last(ct, task);
	job_release_slot(ct, job, task, ctx->state == CTX_UNLOADED);
	/* The context has started: wake the ctxsw thread of the CPU where its thread runs. */
	if (starts)
		ctxsw_kick_cpu(ct, ctxsw_load_word(&sched_slot(ct->shared->sched, slot)->cpu));
	job_finish(job, ct->shared->events);
}

void ctxsw_job_deliver(struct ctxsw_thread *ct, struct job *job)
{
	struct task_ctx *task = job->ec->task;
	struct task_slot *task_slot = task_slot_of(ct, task->slot);
	struct backoff backoff = {0};
	unsigned word;

	do {
		word = atomic_load(&task_slot->word);
		if (task_slot_trylock(ct, task_slot, word)) {
			job_run(ct, job, task);
			return;
		}
	} while (slot_state(word) == SLOT_SAVED ||
		 (slot_state(word) == SLOT_LOCKED && backoff_wait(&backoff)));
	if (slot_state(word) == SLOT_FREE) {
		/* Unloaded since: the session thread submits the job again. */
		job->requeued = true;
		job_finish(job, ct->shared->events);
		return;
	}
	/* The slot is active there, or locked by a thread that may need this CPU to go on. */
	ctxsw_post(atomic_load(&ct->shared->ctxsw_threads[slot_word_cpu(word)]), job);
}
