// SPDX-License-Identifier: MIT
/*
 * Freezing: the counters of a CPU stop, all at once if the PMU allows that, and are read. The plan
 * that stops them is made in advance and is as short as possible, because the counters count the
 * instructions that lead to it. With a global control, the plan is one update of it; without, it
 * replaces each selector that still holds what was written. Freezing is never undone: a register
 * that was taken over is left alone, and its counts are lost.
 */
#include "daemon/core/core_i.h"

static uint64_t freeze_value(const struct context *ctx, unsigned p)
{
	return ctx->res->hw.sel[p] & ~ctx->pmu->pmcs[p].enable;
}

bool selector_enabled(const struct context *ctx, unsigned p)
{
	return ctx->res->hw.sel[p] & ctx->res->hw.mask[p] & ctx->pmu->pmcs[p].enable;
}

/* Selectors of counters that the global control does not stop, such as those of a package. */
static pmu_rows freeze_apart(const struct context *ctx)
{
	pmu_rows pmds = 0;

	for_each_row (d, ctx->res->hw.pmds)
		if (ctx->pmu->pmds[d].global < 0)
			pmds |= ROW(d);
	return selectors_of(ctx, pmds);
}

static void freeze_plan_selector(const struct context *ctx, unsigned p, struct plan *plan)
{
	plan_replace(plan, ctx->pmu->pmcs[p].addr, ctx->res->hw.sel[p], freeze_value(ctx, p),
		ctx->res->hw.mask[p]);
}

void freeze_plan_selectors(const struct context *ctx, struct plan *plan)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (selector_enabled(ctx, p))
			freeze_plan_selector(ctx, p, plan);
	/* A selector that need not be stopped (P6's second, or without EN) may be taken over, too.
	 */
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (ctx->res->hw.mask[p] && !selector_enabled(ctx, p))
			plan_read(plan, ctx->pmu->pmcs[p].addr);
}

void freeze_plan(const struct context *ctx, struct plan *plan)
{
	plan_clear(plan);
	if (!ctx->res->hw.global) {
		freeze_plan_selectors(ctx, plan);
		return;
	}
	plan_add(plan, REG_UPDATE, ctx->pmu->global_ctrl, 0, ctx->res->hw.global);
	for_each_row (p, freeze_apart(ctx))
		if (selector_enabled(ctx, p))
			freeze_plan_selector(ctx, p, plan);
}

/*
 * Freezing by the global control has stopped a counter that was taken over, too: its bit is set
 * again for its new user.
 */
static void freeze_taken_over(struct core_run *run, unsigned p, uint64_t differ)
{
	struct context *ctx = run->ctx;
	pmu_rows taken_over = counters_behind(ctx, p, differ);

	counters_lose(ctx, taken_over, LOST_STOLEN);
	run->foreign_global |= image_global_bits(ctx->pmu, taken_over) & ctx->res->hw.global;
	reservation_lose(ctx, p, differ);
}

static void freeze_take(struct core_run *run, const struct plan *plan)
{
	struct context *ctx = run->ctx;

	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		const struct reg_op *op = plan_result(plan, ctx->pmu->pmcs[p].addr);
		uint64_t differ = reservation_differs(ctx, p, op);

		if (!op)
			continue;
		if (differ)
			freeze_taken_over(run, p, differ);
		/* The rest of a shared selector was not replaced, and is what it was. */
		if (op->verb == REG_REPLACE && (!differ || !selector_enabled(ctx, p)))
			ctx->res->hw.sel[p] = freeze_value(ctx, p);
	}
	counters_fold(run, ctx->res->hw.pmds, plan);
}

void freeze_take_all(struct core_run *run, struct plan *plan, struct err *failed)
{
	for (;;) {
		freeze_take(run, plan);
		if (!plan_failed(plan))
			return;
		counters_fault(run->ctx, run->ctx->res->hw.pmds, plan);
		if (plan->op[plan->done].verb == REG_REPLACE || plan->err.no == ENXIO)
			*failed = plan->err;
		if (plan->err.no == ENXIO || !plan_rest(plan))
			return;
		plan_run(run, plan);
	}
}

void freeze_counters(struct core_run *run, uint64_t at, struct err *failed)
{
	struct context *ctx = run->ctx;
	struct plan *plan = &run->freeze;

	run->moved = true;
	failed->no = 0;
	if (!run->frozen) {
		freeze_plan(ctx, plan);
		plan_run_sampling(run, plan);
	}
	run->frozen = false;
	if (ctx_time_passes(ctx))
		time_account(ctx, at ? at : run->now);
	if (!ctx->res->hw.global) {
		freeze_take_all(run, plan, failed);
	} else {
		if (plan->done)
			counters_paused(ctx, ctx->res->hw.pmds, plan->op[0].value);
		if (plan_failed(plan)) {
			counters_fault(ctx, ctx->res->hw.pmds, plan);
			*failed = plan->err;
		}
		freeze_take(run, plan);
	}
}

void freeze_plan_counters(const struct context *ctx, struct plan *plan)
{
	for_each_row (d, ctx->res->hw.pmds)
		if (!ctx->active->pmd[d].lost)
			plan_read(plan, ctx->pmu->pmds[d].addr);
}

void freeze_read(struct core_run *run, const struct program *pg)
{
	struct context *ctx = run->ctx;
	pmu_rows rows = selectors_of(ctx, ctx->res->hw.pmds);
	struct plan *plan = &run->plan;
	struct err ignored;

	plan_clear(plan);
	freeze_plan_counters(ctx, plan);
	/* Without a global control, freezing has read the selectors. */
	for (unsigned p = 0; ctx->res->hw.global && p < ctx->pmu->npmcs; p++)
		if ((rows & ROW(p)) || program_changes(ctx, pg, p))
			plan_read(plan, ctx->pmu->pmcs[p].addr);
	plan_run(run, plan);
	freeze_take_all(run, plan, &ignored);
}

void freeze_restore_foreign(struct core_run *run)
{
	uint64_t bits = run->foreign_global;

	if (!bits)
		return;
	plan_add(&run->plan, REG_UPDATE, run->ctx->pmu->global_ctrl, ~0ULL, bits);
	plan_add(&run->plan, REG_FORGET, run->ctx->pmu->global_ctrl, 0, bits);
	run->ctx->res->reserved_global &= ~bits;
	run->foreign_global = 0;
}
