// SPDX-License-Identifier: MIT
/* Acquiring and releasing task slots, and what an owner publishes before it releases one. */
#include <errno.h>
#include <sched.h>

#include "base/nsec.h"
#include "daemon/ctxsw/ctxsw_i.h"

/* How long to wait for another ctxsw thread (ns). It needs microseconds or, in a virtual machine,
 * until the host runs its CPU. Meanwhile, no ordinary thread has this CPU. */
#define BACKOFF_NS 100000000

/* The most that is charged for leaving the CPU (ns). More is a stall of the machine, which must not
 * be charged to the next user. */
#define LEAVING_MAX_NS 10000

enum { BACKOFF_SPINS = 200 }; /* before it yields to threads of the same priority */

static void ctxsw_charge_until(struct ctxsw_thread *ct, const struct task_ctx *task, uint64_t until)
{
	if (task && task->budget)
		budget_charge(&task->budget->cpu[ct->cpu], ct->charge.charged_until, until);
	ct->charge.charged_until = until;
}

void ctxsw_charge(struct ctxsw_thread *ct, const struct task_ctx *task)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);

	ct->charge.leaving_at = 0;
	ctxsw_charge_until(
		ct, task, now > ct->charge.charged_until ? now : ct->charge.charged_until);
}

void ctxsw_charge_last(struct ctxsw_thread *ct, const struct task_ctx *task)
{
	ct->charge.leaving_at = nsec_now(CLOCK_MONOTONIC);
	ctxsw_charge_until(ct, task, ct->charge.leaving_at + ct->charge.leaving_ns);
}

void ctxsw_charge_wakeup(struct ctxsw_thread *ct)
{
	uint64_t at = __atomic_load_n(&ct->sched_cpu->ctxsw_at, __ATOMIC_RELAXED);
	uint64_t left = ct->charge.came_at + ctxsw_load_word(&ct->sched_cpu->ctxsw_ran);

	if (at == ct->charge.came_at)
		return; /* it did not sleep */
	if (ct->charge.leaving_at && left > ct->charge.leaving_at)
		ct->charge.leaving_ns = left - ct->charge.leaving_at < LEAVING_MAX_NS
						? left - ct->charge.leaving_at
						: LEAVING_MAX_NS;
	ct->charge.leaving_at = 0;
	if (left > ct->charge.charged_until)
		ctxsw_charge_until(ct, ct->active, left);
	ct->charge.came_at = ct->charge.charged_until = at;
}

int ctxsw_check_budget(const struct ctxsw_thread *ct, const struct task_ctx *task, struct err *e)
{
	uint64_t percent = task->requester->limits.ctxsw_budget;

	if (!task->budget ||
		!budget_is_spent(&task->budget->cpu[ct->cpu], ct->charge.charged_until, percent))
		return 0;
	return err_set(e, EAGAIN,
		"switching, loading and writing contexts of uid %u took more than %u %% of CPU %u "
		"(config/ctxsw_budget): try again in 100 ms",
		task->ec->uid, (unsigned)percent, ct->cpu);
}

bool task_slot_overspent(struct ctxsw_thread *ct, struct task_ctx *task)
{
	struct context *ctx = &task->ec->ctx;
	const struct budget_window *w;

	if (!task->budget)
		return false;
	w = &task->budget->cpu[ct->cpu];
	if (!budget_is_spent(w, ct->charge.charged_until, ctx->limits.ctxsw_budget))
		return false;
	task->spent_until = w->since + BUDGET_WINDOW_NS;
	atomic_fetch_add(&ct->shared->stats->ctxsw_over_budget, 1);
	ctx_lose(ctx, LOST_BUDGET);
	return true;
}

bool task_slot_trylock(struct ctxsw_thread *ct, struct task_slot *s, unsigned word)
{
	return slot_state(word) == SLOT_SAVED &&
	       atomic_compare_exchange_strong(&s->word, &word, slot_word(SLOT_LOCKED, ct->cpu));
}

void task_slot_release(struct ctxsw_thread *ct, struct task_ctx *task)
{
	atomic_store(&task_slot_of(ct, task->slot)->word, slot_word(SLOT_SAVED, ct->cpu));
}

bool backoff_wait(struct backoff *p)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);

	if (!p->until)
		p->until = now + BACKOFF_NS;
	if (now > p->until)
		return false;
	if (++p->spins > BACKOFF_SPINS)
		sched_yield();
	else
		pfm_live_pause();
	return true;
}

/*
 * True if the CPU where the context is active needs a kick to save it. The thread has come here.
 * Usually, the ctxsw thread of its old CPU was woken when the thread left, and is saving the
 * context. It was not woken if a kernel thread came, for which the context stayed in the registers
 * (user_only), and which may have moved the thread; or if the context was pinned there and the
 * thread came here before it has run.
 *
 * One kick suffices. It ends the run window that was seen, and another one begins there only when
 * the thread has gone back. That ends the wait here: the thread cannot come again while the ctxsw
 * thread has this CPU.
 */
static bool task_slot_needs_kick(
	const struct sched_slot *s, unsigned word, const struct backoff *backoff)
{
	return slot_state(word) == SLOT_ACTIVE &&
	       (ctxsw_load_word(&s->user_only) || backoff->spins >= BACKOFF_SPINS);
}

struct task_ctx *task_slot_acquire(struct ctxsw_thread *ct, unsigned slot)
{
	const struct sched_slot *s = sched_slot(ct->shared->sched, slot);
	struct task_slot *task_slot = task_slot_of(ct, slot);
	struct backoff backoff = {0};
	bool kicked = false;

	for (;;) {
		unsigned word = atomic_load(&task_slot->word);

		if (slot_state(word) == SLOT_FREE || ctxsw_load_word(&s->cpu) != ct->cpu)
			return NULL;
		if (task_slot_trylock(ct, task_slot, word))
			return task_slot->task;
		if (!kicked && task_slot_needs_kick(s, word, &backoff)) {
			ctxsw_kick_cpu(ct, slot_word_cpu(word));
			kicked = true;
		}
		/* A CPU has waited in vain, and the owner has made no progress since. */
		if (atomic_load(&task_slot->missed) & MISSED_LATE)
			return NULL;
		if (!backoff.spins)
			atomic_fetch_add(&ct->shared->stats->ctxsw_waits, 1);
		if (!backoff_wait(&backoff)) {
			ctxsw_charge(ct, NULL);
			atomic_fetch_or(&task_slot->missed, MISSED_LATE);
			return NULL;
		}
	}
}

/* Kicks ctxsw threads whose CPU was offline while they slept. They get no wakeups, as their perf
 * event is dead. */
static void task_slot_kick_dead_wakeups(struct ctxsw_shared *shared)
{
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct ctxsw_thread *there = atomic_load(&shared->ctxsw_threads[cpu]);

		if (there && ctxsw_load_word(&there->sched_cpu->wakeup_dead))
			ctxsw_kick(there);
	}
}

void task_slot_lose_taken(struct context *ctx, sched_u64 taker)
{
	ctx_lose_taken(ctx, sched_taker_cpu(taker), sched_taker_uid(taker));
}

void task_slot_sync_task(struct ctxsw_thread *ct, struct task_ctx *task)
{
	struct sched_slot *s = sched_slot(ct->shared->sched, task->slot);
	struct context *ctx = &task->ec->ctx;
	unsigned missed = atomic_exchange(&task_slot_of(ct, task->slot)->missed, 0);
	sched_u64 taker = __atomic_exchange_n(&s->taker, 0, __ATOMIC_RELAXED);

	ctx->target.tid = (int)ctxsw_load_word(&s->tid);
	if (missed & MISSED_LATE)
		atomic_fetch_add(&ct->shared->stats->ctxsw_late, 1);
	if (__atomic_exchange_n(&s->missed, 0, __ATOMIC_RELAXED)) {
		atomic_fetch_add(&ct->shared->stats->ctxsw_missed, 1);
		task_slot_kick_dead_wakeups(ct->shared);
		if (ctx->state == CTX_RUNNING)
			ctxsw_lose_missed(ctx);
	}
	if (__atomic_exchange_n(&s->stalled, 0, __ATOMIC_RELAXED)) {
		atomic_fetch_add(&ct->shared->stats->ctxsw_stalled, 1);
		if (ctx->state == CTX_RUNNING)
			ctx_lose(ctx, LOST_STALLED);
	}
	if (ctx->state == CTX_RUNNING && (missed & MISSED_LATE))
		ctx_lose(ctx, LOST_OVERTAKEN);
	if (__atomic_exchange_n(&s->uncovered, 0, __ATOMIC_RELAXED) && ctx->state == CTX_RUNNING)
		ctx_lose(ctx, LOST_UNCOVERED);
	if (taker && ctx->state == CTX_RUNNING)
		task_slot_lose_taken(ctx, taker);
	ctxsw_gap_account(ct, task);
}

void task_slot_publish(struct ctxsw_thread *ct, struct task_ctx *task)
{
	struct sched_slot *s = sched_slot(ct->shared->sched, task->slot);
	struct context *ctx = &task->ec->ctx;

	__atomic_store_n(&s->enabled, task_slot_wants_registers(task), __ATOMIC_RELEASE);
	if (ctx->ovfl.block != task->blocked) {
		task->blocked = ctx->ovfl.block;
		(task->blocked ? tracer_stop : tracer_resume)(ct->shared->tracer, ctx->target.tid);
	}
	engine_ctx_changed(task->ec, ct->shared->events);
}

void task_slot_report_death(struct ctxsw_thread *ct, unsigned slot)
{
	struct sched_slot *s = sched_slot(ct->shared->sched, slot);
	struct task_slot *task_slot = task_slot_of(ct, slot);

	if (slot && ctxsw_load_word(&s->dead) && !atomic_exchange(&task_slot->death_reported, true))
		event_send(ct->shared->events, &task_slot->death_event.event);
}
