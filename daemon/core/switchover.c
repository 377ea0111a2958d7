// SPDX-License-Identifier: MIT
/*
 * Programs another set or another thread's context into frozen registers. The registers that they
 * need are reserved already, so only differences are written. A switchover is never undone: a
 * register that cannot be written costs its counts, and a register of the new set costs all counts
 * of that set; the context is then running, half-way, until it is stopped or unloaded.
 */
#include "daemon/core/core_i.h"

int switchover_give_up(struct context *ctx, const struct err *why, struct err *e)
{
	counters_lose(ctx, ctx->res->hw.pmds, why->no == ENXIO ? LOST_OFFLINE : LOST_FAULT);
	ctx->res->hw.halted = true;
	return err_copy(e, why);
}

void switchover_aim(const struct context *ctx, const struct evtset *set, struct program *pg)
{
	struct image *to = &pg->to;

	image_of(ctx->pmu, set->pmc, true, to);
	to->pmcs |= ctx->res->hw.pmcs;
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		to->sel[p] = (to->sel[p] & to->mask[p]) | (ctx->res->hw.sel[p] & ~to->mask[p]);
		to->mask[p] = ctx->res->hw.mask[p];
	}
	pg->one_way = true;
}

/* Counters whose selectors were taken over since load are left out, and lost. */
static void switchover_leave_out(struct context *ctx, struct image *to)
{
	const struct pmu *pmu = ctx->pmu;

	for (unsigned p = 0; p < pmu->npmcs; p++) {
		if (ctx->res->reserved_sel[p] || !image_restricts(pmu, ctx->active->pmc, p))
			continue;
		counters_lose(ctx, to->pmds, LOST_STOLEN);
		to->pmds = 0;
	}
	for_each_row (d, to->pmds) {
		unsigned levels = image_levels_row(pmu, ctx->active->pmc, d);

		if (!(image_field(pmu, d) & ~ctx->res->reserved_sel[pmu->pmds[d].pmc]) &&
			ctx->res->reserved_sel[levels])
			continue;
		counters_lose(ctx, ROW(d), LOST_STOLEN);
		to->pmds &= ~ROW(d);
	}
	to->global = image_global_bits(pmu, to->pmds);
}

/* Takes in the part of the plan that was run: selectors hold what was written, except those that
 * were taken over. */
static void switchover_take(struct context *ctx, struct program *pg, const struct plan *plan)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		const struct reg_op *op = plan_result(plan, ctx->pmu->pmcs[p].addr);
		uint64_t differ =
			op && op->verb == REG_REPLACE ? reservation_differs(ctx, p, op) : 0;

		if (differ)
			reservation_lose(ctx, p, differ);
		else if (op)
			ctx->res->hw.sel[p] = pg->to.sel[p];
		pg->to.mask[p] = ctx->res->hw.mask[p];
	}
	switchover_leave_out(ctx, &pg->to);
}

int switchover(struct core_run *run, struct program *pg, pmu_rows known,
	const uint64_t current[PMU_MAX_PMDS], struct err *e)
{
	struct context *ctx = run->ctx;
	struct plan *plan = &run->plan;

	switchover_aim(ctx, ctx->active, pg);
	switchover_leave_out(ctx, &pg->to);
	plan_clear(plan);
	program_counters(ctx, pg->to.pmds, known, current, plan);
	program_selectors(ctx, pg, plan);
	plan_run(run, plan);
	switchover_take(ctx, pg, plan);
	ctx->res->hw.pmds = pg->to.pmds;
	ctx->res->hw.global = 0;
	if (plan_failed(plan))
		return switchover_give_up(ctx, &plan->err, e);
	ctx->clock.since = run->now;
	program_commit(run, pg);
	run->undo.kind = UNDO_SWITCH;
	return plan->n ? CORE_LAST : 0;
}

int switchover_last_failed(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;
	const struct plan *plan = &run->plan;

	ctx->res->hw.global = 0;
	for (unsigned i = plan->done; i < plan->n; i++)
		for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
			if (ctx->pmu->pmcs[p].addr == plan->op[i].addr)
				ctx->res->hw.sel[p] = run->undo.image.sel[p];
	return switchover_give_up(ctx, &plan->err, e);
}
