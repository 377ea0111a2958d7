// SPDX-License-Identifier: MIT
/* Restoring contexts to the registers, and saving them. */
#include <errno.h>

#include "base/nsec.h"
#include "daemon/ctxsw/ctxsw_i.h"

/* Sets how long the context can run before it needs attention, and which descriptors to poll. */
static void ctxsw_set_timeout(struct ctxsw_thread *ct, const struct context *ctx)
{
	struct wake wake = ctx_wake(ctx);
	uint64_t now = nsec_now(CLOCK_MONOTONIC), left = wake.at > now ? wake.at - now : 0;

	ct->nfds = FD_WAKEUP + 1;
	ct->run.timeout = nsec_timespec(left);
	if (ct->x.sample_tick) {
		sample_tick_arm(&ct->sample_tick, ctx, wake, now);
		ct->nfds += ct->sample_tick.phase == SAMPLE_TICK_FAR ||
			    ct->sample_tick.phase == SAMPLE_TICK_NEXT;
		ct->run.timeout = ct->sample_tick.timeout;
	}
	if (!wake.at)
		ct->run.timeout.tv_sec = INT32_MAX;
}

/* The thread's CPU time (ns) before the run that begins now. What it ran before the ctxsw thread
 * did is part of the run, unless the context was started later. */
static uint64_t ctxsw_runtime_before(const struct sched_slot *s, const struct task_ctx *task)
{
	uint64_t from = task->runtime > s->runtime_in ? task->runtime : s->runtime_in;

	return from < s->runtime_out ? from : s->runtime_out;
}

/* Restores the context of @task to the registers. False: the CPU is not in its mask or has a taker,
 * its user's budget is spent, the context is not running, or nothing in it counts. */
static bool ctxsw_restore(struct ctxsw_thread *ct, struct task_ctx *task)
{
	sched_u64 taker = __atomic_load_n(&ct->sched_cpu->taker, __ATOMIC_RELAXED);
	struct context *ctx = &task->ec->ctx;

	if (ctx->state != CTX_RUNNING || !cpus_has(&task->cpumask, ct->cpu))
		return false;
	if (taker) {
		task_slot_lose_taken(ctx, taker);
		return false;
	}
	if (!pmu_applies(ctx->pmu, ct->cpu_ctx.pmu)) {
		ctx_lose(ctx, LOST_TYPE);
		return false;
	}
	if (task_slot_overspent(ct, task))
		return false;
	ctxsw_open_sampler(ct, ctx, &ct->err); /* on failure, samples lack the thread */
	if (!ctx->ovfl.block && ctxsw_reserve(ct, ctx, &ct->err) < 0)
		ctx_lose(ctx, ct->err.no == ENXIO ? LOST_OFFLINE : LOST_STOLEN);
	ctxsw_sched_in(ct, ctx);
	ctxsw_gap_begins_later(ct, task);
	atomic_fetch_add_explicit(&ct->shared->stats->ctxsw_in, 1, memory_order_relaxed);
	return !ctx_saved(ctx);
}

/*
 * True if the context may stay in the registers when its thread gives way to the idle task or a
 * kernel thread. A context with a CPU mask may not: on other CPUs, the thread's time is not the
 * context's, and no ctxsw thread is woken to say so. Nor may a context that samples or notifies:
 * its overflows are looked for while it is in the registers. With CTX_GAPS, the gap that a missed
 * switch opens would be as long as the stay. Registers that are shared with other CPUs would keep
 * threads there waiting.
 */
static bool ctxsw_may_stay(const struct task_ctx *task)
{
	const struct context *ctx = &task->ec->ctx;

	return ctx_is_user_only(ctx) && !ctx_attributes(ctx) && !task->has_cpumask &&
	       !(ctx->flags & CTX_GAPS) && !ctx_shares_registers(ctx);
}

/* Addresses of the program that the thread executed before say nothing about this one. */
static void ctxsw_note_exec(const struct ctxsw_thread *ct, struct task_ctx *task)
{
	uint32_t execs = ctxsw_load_word(&sched_slot(ct->shared->sched, task->slot)->execs);

	if (task->execs == execs)
		return;
	task->execs = execs;
	task->ec->ctx.samples.earlier_ip = 0;
}

/* False: it was not restored, or its owner takes too long. */
static bool ctxsw_switch_in_slot(struct ctxsw_thread *ct, unsigned slot)
{
	struct sched_slot *s = sched_slot(ct->shared->sched, slot);
	struct task_ctx *task;

	if (!slot || !ctxsw_load_word(&s->enabled) || ctxsw_load_word(&s->dead))
		return false;
	task = task_slot_acquire(ct, slot);
	if (!task)
		return false;
	task_slot_sync_task(ct, task);
	if (!ctxsw_restore(ct, task)) {
		task_slot_publish(ct, task);
		ctxsw_charge(ct, task);
		task_slot_release(ct, task);
		return false;
	}
	engine_ctx_changed(task->ec, ct->shared->events); /* a count may have been lost */
	ct->active = task;
	ct->run.late = ctxsw_load_word(&ct->sched_cpu->late);
	ct->run.runtime = ctxsw_runtime_before(s, task);
	__atomic_store_n(&ct->sched_cpu->has_run, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->user_only, ctxsw_may_stay(task), __ATOMIC_RELAXED);
	__atomic_store_n(&ct->sched_cpu->active_slot, slot, __ATOMIC_RELAXED);
	atomic_store(&task_slot_of(ct, slot)->word, slot_word(SLOT_ACTIVE, ct->cpu));
	ctxsw_set_timeout(ct, &task->ec->ctx);
	ctxsw_charge(ct, task);
	return true;
}

/*
 * Fairness: while this thread runs, the scheduler charges the thread for which it runs. With many
 * ready threads, it would then pick another one, which wakes this thread again, and so on, and none
 * would get to run. So a context that was switched in is pinned, and switched in again, until its
 * thread has run; except if the scheduler picks the same other thread twice in a row, or there were
 * too many deferrals.
 */
void ctxsw_switch_in(struct ctxsw_thread *ct)
{
	unsigned here = sched_here(ct->shared->sched, ct->cpu), pinned = ct->fair.pinned_slot;
	bool taken = __atomic_load_n(&ct->sched_cpu->taker, __ATOMIC_RELAXED);

	ct->fair.pinned_slot = 0;
	if (!ct->presence.open)
		return;
	if (pinned && !taken && pinned != here && here && here != ct->fair.deferred_slot &&
		ct->fair.deferrals < 2 * sched_followed(ct->shared->sched) &&
		ctxsw_switch_in_slot(ct, pinned)) {
		ct->fair.deferred_slot = here;
		ct->fair.deferrals++;
		return;
	}
	ct->fair.deferred_slot = 0;
	ctxsw_switch_in_slot(ct, here);
}

void ctxsw_switch_out(struct ctxsw_thread *ct)
{
	struct task_ctx *task = ct->active;
	struct context *ctx = &task->ec->ctx;

	ct->active = NULL;
	if (ctxsw_load_word(&ct->sched_cpu->has_run))
		ct->fair.deferrals = 0;
	else
		ct->fair.pinned_slot = task->slot;
	__atomic_store_n(&ct->sched_cpu->active_slot, 0, __ATOMIC_RELAXED);
	task->runtime = sched_slot(ct->shared->sched, task->slot)->runtime_out;
	ct->out.left_at = ctx->clock.since +
			  (task->runtime > ct->run.runtime ? task->runtime - ct->run.runtime : 0);
	if (ct->x.sample_tick)
		ip_sampler_pause(ct->sample_tick.ip_sampler); /* not to disturb other threads */
	/* Before CMD_SCHED_OUT: lost counts belong to the active set, and must not overflow. */
	if (ctxsw_load_word(&ct->sched_cpu->late) != ct->run.late)
		atomic_fetch_or(&task_slot_of(ct, task->slot)->missed, MISSED_LATE);
	task_slot_sync_task(ct, task);
	/* Other threads may have run on the CPU while the kernel moved this one away. */
	if (ctx->state == CTX_RUNNING && ctxsw_cpu_was_offline(ct))
		ctx_lose(ctx, LOST_OFFLINE);
	ctxsw_sched_out(ct, ctx);
	ctxsw_note_exec(ct, task);
	ctxsw_release_shared(ct, ctx, &ct->err);
	ctxsw_gap_begins_later(ct, task);
	atomic_fetch_add_explicit(&ct->shared->stats->ctxsw_out, 1, memory_order_relaxed);
	task_slot_publish(ct, task);
	task_slot_report_death(ct, task->slot);
	ctxsw_charge_last(ct, task);
	task_slot_release(ct, task);
}
