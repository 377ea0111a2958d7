// SPDX-License-Identifier: MIT
/* The registers that a context has reserved, and what happens when another program takes one. */
#include "daemon/core/core_i.h"

uint64_t reservation_bits(const struct pmu *pmu, unsigned p, uint64_t bits)
{
	return bits ? bits | pmu->pmcs[p].latched : 0;
}

uint64_t reservation_differs(const struct context *ctx, unsigned p, const struct reg_op *op)
{
	return op ? (op->value ^ ctx->res->hw.sel[p]) & ctx->res->hw.mask[p] &
			       image_kept(ctx->pmu, p) & ~ctx->res->unsure[p]
		  : 0;
}

void reservation_lose(struct context *ctx, unsigned p, uint64_t differ)
{
	const struct pmu *pmu = ctx->pmu;
	uint64_t bits = pmu->pmcs[p].shared && !pmu->pmcs[p].restricts ? 0 : ~0ULL;

	for (unsigned d = 0; pmu->pmcs[p].shared && d < pmu->npmds; d++)
		if (pmu->pmds[d].pmc == p && (pmu->pmds[d].field & differ))
			bits |= pmu->pmds[d].field;
	ctx->res->reserved_sel[p] &= ~bits;
	ctx->res->hw.mask[p] &= ~bits;
}

static bool reservation_is_wide(const struct pmu_pmc *pmc, uint64_t value)
{
	return pmc->wide && (value & pmc->wide) == pmc->wide;
}

static bool reservation_is_user_only(
	const struct context *ctx, const struct evtset *set, unsigned d)
{
	unsigned row = image_levels_row(ctx->pmu, set->pmc, d);
	const struct pmu_pmc *pmc = &ctx->pmu->pmcs[row];
	uint64_t value = set->pmc[row];

	/* Many of the kernel's events ignore the level. */
	return ctx->pmu->space == PMU_SPACE_MSR && pmc->user &&
	       !(value & pmc->kernel & image_field(ctx->pmu, d)) &&
	       !reservation_is_wide(pmc, value);
}

static void reservation_find_needs(struct context *ctx)
{
	struct ctx_needs needs = {
		.known = true, .calibrated = ctx->needs.calibrated, .user_only = true};
	struct image im;

	for (unsigned i = 0; i < ctx->nsets; i++) {
		image_of(ctx->pmu, ctx->sets[i]->pmc, false, &im);
		needs.pmds |= im.pmds;
		for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
			needs.mask[p] |= im.mask[p];
			needs.shared |=
				im.mask[p] && ctx->pmu->pmcs[p].node &&
				reservation_is_wide(&ctx->pmu->pmcs[p], ctx->sets[i]->pmc[p]);
		}
		for_each_row (d, im.pmds)
			needs.user_only &= reservation_is_user_only(ctx, ctx->sets[i], d);
	}
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		needs.shared |= needs.mask[p] && ctx->pmu->pmcs[p].scope != PMU_SCOPE_THREAD;
	ctx->needs = needs;
}

bool ctx_has_reserved(struct context *ctx, const struct pmu_reservation *res)
{
	if (!ctx->needs.known)
		reservation_find_needs(ctx);
	/* P6's second selector may be reserved only so that it does not count with the first. */
	if (ctx->needs.pmds & ~res->reserved_pmds)
		return false;
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (ctx->needs.mask[p] & ~res->reserved_sel[p])
			return false;
	return true;
}

pmu_rows ctx_calibratable(const struct context *ctx, const struct evtset *set)
{
	const struct pmu *pmu = ctx->pmu;
	pmu_rows rows = 0;
	struct image im;

	image_of(pmu, set->pmc, false, &im);
	for_each_row (d, im.pmds) {
		unsigned row = image_levels_row(pmu, set->pmc, d);

		if (!pmu->pmds[d].buffer &&
			!(set->pmc[row] & pmu->pmcs[row].kernel & image_field(pmu, d)))
			rows |= ROW(d);
	}
	return rows;
}
