// SPDX-License-Identifier: MIT
/*
 * Moving from one image to another: the part that load, start, a rewritten PMC, a set switch and
 * scheduling in have in common. Counters and selectors are written first. The registers that make
 * the counters count come last: the global control if there is one, otherwise the selectors.
 */
#include "daemon/core/core_i.h"

uint64_t program_new_bits(const struct context *ctx, const struct program *pg, unsigned p)
{
	return pg->to.mask[p] & ~ctx->res->reserved_sel[p];
}

/* Bits of selector row @p that have to change, or may have to. */
static uint64_t program_diff(const struct context *ctx, const struct program *pg, unsigned p)
{
	return ((pg->to.sel[p] ^ ctx->res->hw.sel[p]) | ctx->res->unsure[p]) & pg->to.mask[p];
}

bool program_changes(const struct context *ctx, const struct program *pg, unsigned p)
{
	return program_new_bits(ctx, pg, p) || program_diff(ctx, pg, p);
}

/* True if selector row @p lacks only its enable bits. */
static bool program_only_enables(const struct context *ctx, const struct program *pg, unsigned p)
{
	return !program_new_bits(ctx, pg, p) &&
	       !(program_diff(ctx, pg, p) & ~ctx->pmu->pmcs[p].enable);
}

/*
 * True if selector row @p is written with the last plan. A change that can be undone is read back
 * before anything counts, so a selector that needs more than its enable bits is not left for the
 * last plan.
 */
static bool program_enables_last(const struct context *ctx, const struct program *pg, unsigned p)
{
	if (ctx->pmu->global_ctrl || !pg->to.running)
		return false;
	if (!pg->one_way)
		return program_only_enables(ctx, pg, p);
	return pg->to.sel[p] & pg->to.mask[p] & ctx->pmu->pmcs[p].enable;
}

static void program_selector(
	const struct context *ctx, const struct program *pg, unsigned p, struct plan *plan)
{
	const struct pmu_pmc *pmc = &ctx->pmu->pmcs[p];

	if (pg->unseen)
		plan_replace(plan, pmc->addr, ctx->res->hw.sel[p], pg->to.sel[p], pg->to.mask[p]);
	else if (pmc->shared)
		plan_add(plan, REG_UPDATE, pmc->addr, pg->to.sel[p], pg->to.mask[p]);
	else
		plan_add(plan, REG_WRITE, pmc->addr, pg->to.sel[p], ~0ULL);
}

void program_counters(struct context *ctx, pmu_rows rows, pmu_rows known,
	const uint64_t current[PMU_MAX_PMDS], struct plan *plan)
{
	for_each_row (d, rows) {
		struct pmd_state *s = &ctx->active->pmd[d];

		s->hw = s->n.value & ctx->pmu->pmds[d].wmask;
		if (!(known & ROW(d)) || current[d] != s->hw)
			plan_add(plan, REG_WRITE, ctx->pmu->pmds[d].addr, s->hw, ~0ULL);
	}
}

void program_selectors(const struct context *ctx, const struct program *pg, struct plan *plan)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		if (!program_changes(ctx, pg, p) || program_enables_last(ctx, pg, p))
			continue;
		program_selector(ctx, pg, p, plan);
		/* A bit that the CPU, or a hypervisor without a PMU, does not keep shows at once.
		 */
		if (!pg->one_way && !program_only_enables(ctx, pg, p))
			plan_read(plan, ctx->pmu->pmcs[p].addr);
	}
}

static void program_plan_enable(struct core_run *run, const struct program *pg)
{
	const struct context *ctx = run->ctx;
	uint64_t on = (pg->to.global & ~ctx->res->hw.global) | run->foreign_global;

	plan_clear(&run->plan);
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (program_changes(ctx, pg, p) && program_enables_last(ctx, pg, p))
			program_selector(ctx, pg, p, &run->plan);
	if (on)
		plan_add(&run->plan, REG_UPDATE, ctx->pmu->global_ctrl, ~0ULL, on);
	if (run->foreign_global)
		plan_add(&run->plan, REG_FORGET, ctx->pmu->global_ctrl, 0, run->foreign_global);
}

void program_commit(struct core_run *run, const struct program *pg)
{
	struct context *ctx = run->ctx;
	struct image *hw = &ctx->res->hw;
	pmu_rows counted = hw->running && !pg->one_way ? hw->pmds : 0;

	program_plan_enable(run, pg);
	ctx->res->reserved_global &= ~run->foreign_global;
	for_each_row (d, pg->to.running ? pg->to.pmds & ~counted : 0)
		ctx->active->pmd[d].read_at = run->begun;
	if (!counted)
		time_stamp_live(run);
	run->undo.image = *hw;
	*hw = pg->to;
}
