// SPDX-License-Identifier: MIT
/*
 * Stopping (specification 3.1.6). Unlike starting it never turns back: a register that was taken
 * over is left alone and its counts are lost. If one cannot be stopped, or the CPU went offline,
 * the context stays running, half-way, until it is stopped again or unloaded.
 *
 * The first plan is what stops the counters, made of as little as possible, and in advance: they
 * count the instructions that lead to it. With a global control that is one update of it; without,
 * each selector is replaced, if it still holds what we wrote. Then all are read.
 */
#include "daemon/core/core_i.h"

static uint64_t stopped_value(const struct context *ctx, unsigned p)
{
	return ctx->hold->hw.sel[p] & ~ctx->pmu->pmcs[p].enable;
}

static bool enables(const struct context *ctx, unsigned p)
{
	return ctx->hold->hw.sel[p] & ctx->hold->hw.mask[p] & ctx->pmu->pmcs[p].enable;
}

static void replace_selectors(const struct context *ctx, struct plan *plan)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (enables(ctx, p))
			plan_replace(plan, ctx->pmu->pmcs[p].addr, ctx->hold->hw.sel[p],
				stopped_value(ctx, p), ctx->hold->hw.mask[p]);
	/* One that need not be stopped (P6's second, or without EN) may be somebody else's too. */
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (ctx->hold->hw.mask[p] && !enables(ctx, p))
			plan_add(plan, REG_READ, ctx->pmu->pmcs[p].addr, 0, 0);
}

uint64_t selector_differs(const struct context *ctx, unsigned p, const struct reg_op *op)
{
	return op ? (op->value ^ ctx->hold->hw.sel[p]) & ctx->hold->hw.mask[p] : 0;
}

/* The bits of selector @p that differ are someone else's from now on. */
void selector_disown(struct context *ctx, unsigned p, uint64_t differ)
{
	const struct pmu *pmu = ctx->pmu;
	uint64_t bits = pmu->pmcs[p].shared ? 0 : ~0ULL;

	for (unsigned d = 0; pmu->pmcs[p].shared && d < pmu->npmds; d++)
		if (pmu->pmds[d].pmc == p && (pmu->pmds[d].field & differ))
			bits |= pmu->pmds[d].field;
	ctx->hold->claimed_sel[p] &= ~bits;
	ctx->hold->hw.mask[p] &= ~bits;
}

/*
 * What the plan has found out up to where it got. The first plan has paused a counter that was
 * taken over, too: its bit of the global control goes back to whoever has it now.
 */
void stop_take(struct context *ctx, struct step *st, const struct plan *plan)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		const struct reg_op *op = plan_result(plan, ctx->pmu->pmcs[p].addr);
		uint64_t differ;

		if (!op)
			continue;
		differ = selector_differs(ctx, p, op);
		if (differ) {
			uint32_t taken_over = counters_behind(ctx, p, differ);

			counters_lose(ctx, taken_over, LOST_STOLEN);
			st->give_back |=
				image_global_bits(ctx->pmu, taken_over) & ctx->hold->hw.global;
			selector_disown(ctx, p, differ);
		}
		/* Of a shared one that was not replaced, the rest still is what it was. */
		if (op->verb == REG_REPLACE && (!differ || !enables(ctx, p)))
			ctx->hold->hw.sel[p] = stopped_value(ctx, p);
	}
	counters_fold(ctx, ctx->hold->hw.pmds, plan);
}

/* True if there is more of the plan to be run. */
static bool take_failed(struct context *ctx, struct step *st, struct plan *plan)
{
	counters_fault(ctx, ctx->hold->hw.pmds, plan);
	if (plan->op[plan->done].verb == REG_REPLACE || plan->err.no == ENXIO)
		st->err = plan->err; /* it may still be counting, or be when the CPU is back */
	return plan->err.no != ENXIO && plan_rest(plan);
}

static int stopped(struct context *ctx, struct step *st, struct err *e)
{
	st->phase = PHASE_START;
	if (st->err.no) {
		counters_lose(ctx, ctx->hold->hw.pmds, LOST_FAULT);
		ctx->hold->hw.halted = true;
		*e = st->err;
		return -e->no;
	}
	ctx->hold->hw.running = false;
	ctx->hold->hw.global = 0;
	ctx->hold->hw.halted = false;
	if (!st->masking)
		ctx_set_state(ctx, CTX_LOADED);
	return CORE_DONE;
}

static bool any_enabled(const struct context *ctx)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (enables(ctx, p))
			return true;
	return false;
}

bool stop_active(const struct step *st)
{
	return st->phase == PHASE_QUIET || st->phase == PHASE_STOP;
}

void ctx_quiet_plan(const struct context *ctx, struct plan *plan)
{
	plan_clear(plan);
	if (ctx->hold->hw.global)
		plan_add(plan, REG_UPDATE, ctx->pmu->global_ctrl, 0, ctx->hold->hw.global);
	else
		replace_selectors(ctx, plan);
}

int stop_begin(struct context *ctx, struct step *st, struct plan *plan)
{
	ctx_quiet_plan(ctx, plan);
	plan->virt.want = virtuals_sampled(ctx);
	st->moves = true;
	st->phase = PHASE_QUIET;
	return CORE_RUN;
}

int stop_rest(struct context *ctx, struct step *st, struct plan *plan)
{
	plan_clear(plan);
	if (ctx->hold->hw.global)
		replace_selectors(ctx, plan);
	st->phase = PHASE_STOP;
	return CORE_RUN;
}

void stop_give_back(struct context *ctx, struct step *st, struct plan *plan)
{
	uint64_t bits = st->give_back;

	if (!bits || st->err.no == ENXIO)
		return;
	plan_add(plan, REG_UPDATE, ctx->pmu->global_ctrl, ~0ULL, bits);
	plan_add(plan, REG_FORGET, ctx->pmu->global_ctrl, 0, bits);
	ctx->hold->claimed_global &= ~bits;
	st->give_back = 0;
}

int stop_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	bool global = ctx->hold->hw.global;

	if (st->phase == PHASE_QUIET && ctx_counts(ctx))
		time_account(ctx, plan->at);
	if (st->phase == PHASE_QUIET && global && !plan_failed(plan))
		counters_paused(ctx, ctx->hold->hw.pmds, plan->op[0].value);
	if (st->phase == PHASE_STOP || !global)
		stop_take(ctx, st, plan);
	if (plan_failed(plan) && take_failed(ctx, st, plan))
		return CORE_RUN;
	plan_clear(plan);
	if (st->phase == PHASE_STOP || st->err.no == ENXIO) {
		/* What is left of a shared selector without what was taken over. */
		if (!st->err.no && any_enabled(ctx))
			replace_selectors(ctx, plan);
		stop_give_back(ctx, st, plan);
		return plan->n ? CORE_RUN : stopped(ctx, st, e);
	}
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if ((ctx->hold->hw.pmds & ROW(d)) && !ctx->active->pmd[d].lost)
			plan_add(plan, REG_READ, ctx->pmu->pmds[d].addr, 0, 0);
	/* After the counters, as at every look: one taken over in between is noticed. */
	if (global)
		replace_selectors(ctx, plan);
	st->phase = PHASE_STOP;
	return CORE_RUN;
}

/* Overflows that the last look has found are like any other, but there is nothing to mask. */
void stop_report(struct context *ctx, const struct plan *plan)
{
	overflow_settle(ctx, plan);
	overflow_notify(ctx);
}

int step_stop(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	int rc;

	if (stop_active(st)) {
		rc = stop_step(ctx, st, plan, e);
		if (rc == CORE_DONE)
			stop_report(ctx, plan);
		return rc;
	}
	ctx->block = false;
	if (ctx_counts_now(ctx))
		return stop_begin(ctx, st, plan);
	if (ctx->state != CTX_UNLOADED) {
		ctx_set_state(ctx, CTX_LOADED);
		return CORE_DONE;
	}
	return not_loaded(ctx, "stop", e);
}
