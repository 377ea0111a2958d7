// SPDX-License-Identifier: MIT
/*
 * Looking at running counters: 64 bits over narrower ones by modular differences, and never a
 * number that was not measured. Each look reads the counter first and its selector after it, so
 * that a counter taken over in between is noticed; a perf event that borrows one leaves the
 * selector changed.
 */
#include "daemon/core/core_i.h"

#include <inttypes.h>

uint64_t pmd_width_mask(const struct pmu_pmd *pmd)
{
	return pmd->width == 64 ? ~0ULL : (1ULL << pmd->width) - 1;
}

uint32_t selectors_of(const struct pmu *pmu, uint32_t pmds)
{
	uint32_t rows = 0;

	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmds & ROW(d))
			rows |= ROW(pmu->pmds[d].pmc) | ROW(pmu->pmcs[pmu->pmds[d].pmc].gate);
	return rows;
}

uint32_t counters_behind(const struct context *ctx, unsigned p, uint64_t bits)
{
	const struct pmu *pmu = ctx->pmu;
	uint32_t pmds = 0;

	for (unsigned d = 0; d < pmu->npmds; d++) {
		unsigned own = pmu->pmds[d].pmc;

		if ((own == p && (image_field(pmu, d) & bits)) ||
			(own != p && pmu->pmcs[own].gate == p))
			pmds |= ROW(d);
	}
	return pmds & ctx->hold->hw.pmds;
}

void counters_lose(struct context *ctx, uint32_t pmds, enum lost why)
{
	for (unsigned d = 0; d < ctx->pmu->npmds; d++) {
		if (!(pmds & ROW(d)) || ctx->active->pmd[d].lost)
			continue;
		ctx->active->pmd[d].lost = why;
		if (why == LOST_STOLEN || why == LOST_PAUSED)
			ctx->count.thefts++;
	}
}

void counters_plan(const struct context *ctx, uint32_t pmds, struct plan *plan)
{
	const struct pmu *pmu = ctx->pmu;
	uint32_t rows = selectors_of(pmu, pmds);

	plan_clear(plan);
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmds & ROW(d))
			plan_add(plan, REG_READ, pmu->pmds[d].addr, 0, 0);
	for (unsigned p = 0; p < pmu->npmcs; p++)
		if (rows & ROW(p))
			plan_add(plan, REG_READ, pmu->pmcs[p].addr, 0, 0);
	if (image_global_bits(pmu, pmds))
		plan_add(plan, REG_READ, pmu->global_ctrl, 0, 0);
}

static void fold_one(struct context *ctx, unsigned d, const struct plan *plan)
{
	const struct pmu_pmd *pmd = &ctx->pmu->pmds[d];
	const struct reg_op *op = plan_result(plan, pmd->addr);
	struct pmd_state *s = &ctx->active->pmd[d];
	uint64_t wrap = pmu_wrap_ns(ctx->pmu, ROW(d)), was, n;

	if (!op || op->verb != REG_READ)
		return;
	if (wrap && plan->at - s->looked > wrap)
		counters_lose(ctx, ROW(d), LOST_LATE);
	if (s->lost)
		return;
	s->looked = plan->at;
	was = s->n.value;
	n = (op->value - s->hw) & pmd_width_mask(pmd);
	/* A thread's counters are looked at only when it has left the CPU. */
	if (ctx->tid && !(ctx->flags & CTX_RAW))
		n -= n < s->carry ? n : s->carry;
	s->n.value += n;
	s->hw = op->value;
	if (s->n.value < was && !(s->flags & PMD_NO64))
		ctx->wrapped |= ROW(d);
}

void counters_fold(struct context *ctx, uint32_t pmds, const struct plan *plan)
{
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if (pmds & ROW(d))
			fold_one(ctx, d, plan);
}

void counters_paused(struct context *ctx, uint32_t pmds, uint64_t global)
{
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if ((pmds & ROW(d)) && (image_global_bits(ctx->pmu, ROW(d)) & ~global))
			counters_lose(ctx, ROW(d), LOST_PAUSED);
}

void counters_fault(struct context *ctx, uint32_t pmds, const struct plan *plan)
{
	const struct pmu *pmu = ctx->pmu;
	uint32_t addr = plan->op[plan->done].addr;
	uint32_t hit = 0;

	if (plan->err.no == ENXIO) {
		counters_lose(ctx, pmds, LOST_OFFLINE);
		return;
	}
	for (unsigned d = 0; d < pmu->npmds; d++) {
		uint32_t rows = selectors_of(pmu, ROW(d));

		if (pmu->pmds[d].addr == addr)
			hit |= ROW(d);
		for (unsigned p = 0; p < pmu->npmcs; p++)
			if ((rows & ROW(p)) && pmu->pmcs[p].addr == addr)
				hit |= ROW(d);
	}
	counters_lose(ctx, hit ? pmds & hit : pmds, LOST_FAULT);
}

static bool still_ours(
	const struct context *ctx, unsigned p, const struct plan *plan, uint64_t *differs)
{
	const struct reg_op *op = plan_result(plan, ctx->pmu->pmcs[p].addr);

	*differs = selector_differs(ctx, p, op);
	return !*differs;
}

void counters_take(struct context *ctx, struct step *st, uint32_t pmds, const struct plan *plan)
{
	const struct pmu *pmu = ctx->pmu;
	uint32_t rows = selectors_of(pmu, pmds);
	uint64_t differs;

	if (plan_failed(plan)) {
		counters_fault(ctx, pmds, plan);
		return;
	}
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		if (!(rows & ROW(p)) || still_ours(ctx, p, plan, &differs))
			continue;
		st->blame = pmu->pmcs[p].addr;
		st->blame_value = plan_result(plan, st->blame)->value;
		counters_lose(ctx, pmds & counters_behind(ctx, p, differs), LOST_STOLEN);
	}
	if (image_global_bits(pmu, pmds))
		counters_paused(ctx, pmds, plan_result(plan, pmu->global_ctrl)->value);
	counters_fold(ctx, pmds, plan);
}

int counter_lost(const struct context *ctx, unsigned d, enum lost lost, struct err *e)
{
	unsigned num = ctx->pmu->pmds[d].num;

	switch (lost) {
	case LOST_STOLEN:
		return err_set(e, EIO,
			"pmd%u was taken over while it counted and its count is lost: unload, load "
			"again and write the PMD to start over",
			num);
	case LOST_PAUSED:
		return err_set(e, EIO,
			"pmd%u was paused by somebody else's write to the global control (0x%x) "
			"and "
			"its count is lost: stop, write the PMD and start again",
			num, ctx->pmu->global_ctrl);
	case LOST_OFFLINE:
		return err_set(e, ENXIO,
			"pmd%u: the CPU went offline while it counted and the count is lost: "
			"unload, "
			"write the PMD and load again when the CPU is back",
			num);
	case LOST_LATE:
		return err_set(e, EIO,
			"pmd%u: the daemon was kept from looking at the counter so long that it "
			"may "
			"have wrapped: write the PMD to start over",
			num);
	case LOST_AWAY:
		return err_set(e, EIO,
			"pmd%u: the thread ran on a CPU that was offline when it was loaded, or "
			"has "
			"been since, and what it did there is not counted: unload, write the PMD "
			"and "
			"load again",
			num);
	case LOST_UNTOLD:
		return err_set(e, EIO,
			"pmd%u: the kernel did not tell that the thread came to a CPU or left it: "
			"some "
			"kernels leave out switches of processes of their own: write the PMD to "
			"start "
			"over",
			num);
	case LOST_OTHERS:
		return err_set(e, EIO,
			"pmd%u: another thread ran before the thread's carrier did: something of "
			"the highest real-time priority runs there, such as another perfmonfs that "
			"follows threads: end it and write the PMD to start over",
			num);
	case LOST_FAULT:
	case LOST_NOT:
		break;
	}
	return err_set(e, EIO,
		"pmd%u: its register could not be read and the count is lost: write the PMD to "
		"start "
		"over",
		num);
}

uint32_t live_rows(const struct context *ctx, uint32_t rows)
{
	uint32_t live = 0;

	if (ctx->state != CTX_RUNNING)
		return 0;
	rows &= ctx->hold->hw.pmds;
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if ((rows & ROW(d)) && !ctx->active->pmd[d].lost)
			live |= ROW(d);
	return live;
}

/*
 * Every failed round loses at least one counter, which the next one leaves out: so this ends, and
 * one faulting register does not take the others with it.
 */
int look_at(struct context *ctx, struct step *st, struct plan *plan, uint32_t live)
{
	bool first = st->phase != PHASE_READ;

	if (!first)
		counters_take(ctx, st, live, plan);
	if (live && (first || plan_failed(plan))) {
		counters_plan(ctx, live_rows(ctx, live), plan);
		plan->virt.want = virtuals_sampled(ctx);
		st->phase = PHASE_READ;
		return plan->n ? CORE_RUN : CORE_DONE;
	}
	return CORE_DONE;
}
