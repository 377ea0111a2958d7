// SPDX-License-Identifier: MIT
/*
 * Moves from one image to another, all or nothing: for load, start, restart and a rewritten PMC.
 *
 * pause   where there is a global control, one write stops the counters that go off, all at the
 *         same instant
 * check   registers that are new are reserved (the backend reads and keeps their originals);
 *         those that will change are read and verified, and so are counters that went off
 * write   counters and selectors are written, and selectors read back
 * enable  the registers that make the counters count are written last
 */
#include "daemon/core/core_i.h"

#include <inttypes.h>
#include <string.h>

static pmu_rows transition_counting(const struct image *im)
{
	return im->running ? im->pmds : 0;
}

static pmu_rows transition_going_off(const struct context *ctx, const struct program *pg)
{
	return transition_counting(&ctx->res->hw) & ~transition_counting(&pg->to);
}

static uint64_t transition_global_off(const struct context *ctx, const struct program *pg)
{
	return ctx->res->hw.global & ~pg->to.global;
}

static uint64_t transition_new_global(const struct context *ctx, const struct program *pg)
{
	return image_global_bits(ctx->pmu, pg->to.pmds | pg->to.spare) & ~ctx->res->reserved_global;
}

static pmu_rows transition_new_pmds(const struct context *ctx, const struct program *pg)
{
	return (pg->to.pmds | pg->to.spare) & ~ctx->res->reserved_pmds;
}

/* True if selector row @p changes, or selects for a counter that goes off and whose count is
 * needed. */
static bool transition_needs(const struct context *ctx, const struct program *pg, unsigned p)
{
	return program_changes(ctx, pg, p) ||
	       (selectors_of(ctx, transition_going_off(ctx, pg)) & ROW(p));
}

/* Registers no longer used stay reserved, at their defaults, until the context is unloaded. */
static void transition_keep_reserved(const struct context *ctx, struct image *to)
{
	for_each_row (p, ctx->res->hw.pmcs) {
		if (!(to->pmcs & ROW(p)))
			to->sel[p] = ctx->pmu->pmcs[p].def;
		to->pmcs |= ROW(p);
		to->mask[p] |= ctx->res->hw.mask[p];
	}
}

/* Loses counters that were running but disturbed meanwhile: paused, or selecting other events. */
static void transition_lose_disturbed(struct context *ctx, const struct program *pg)
{
	pmu_rows disturbed = transition_going_off(ctx, pg);

	if (ctx->state != CTX_RUNNING)
		return;
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (program_changes(ctx, pg, p))
			disturbed |= counters_behind(ctx, p, pg->to.mask[p]);
	counters_lose(ctx, disturbed, LOST_PAUSED);
}

/* Notes that selectors have the old value or the new one, as the CPU went offline in between.
 * Neither is another program's. */
static void transition_note_unsure(struct context *ctx, const struct program *pg)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		ctx->res->unsure[p] |= (pg->to.sel[p] ^ ctx->res->hw.sel[p]) & pg->to.mask[p];
	ctx->res->any_unsure = true;
}

/*
 * Fails with @e, and leaves everything as it was. Unless counters and selectors have been @written,
 * it only gives up reservations and lets paused counters count again.
 */
static int transition_undo(
	struct core_run *run, const struct program *pg, bool written, const struct err *e)
{
	struct context *ctx = run->ctx;
	const struct pmu *pmu = ctx->pmu;
	struct plan *plan = &run->plan;
	enum reg_verb give_up = written ? REG_RELEASE : REG_FORGET;
	uint64_t on = pg->to.global & ~ctx->res->hw.global, off = transition_global_off(ctx, pg);
	struct err failed = {0};

	if (written || off)
		transition_lose_disturbed(ctx, pg);
	plan_clear(plan);
	if (written && on)
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, 0, on);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		const struct pmu_pmc *pmc = &pmu->pmcs[p];
		uint64_t fresh = program_new_bits(ctx, pg, p), old = pg->to.mask[p] & ~fresh;

		if (fresh)
			plan_add(plan, give_up, pmc->addr, 0, reservation_bits(pmu, p, fresh));
		if (written && old && program_changes(ctx, pg, p))
			plan_add(plan, pmc->shared ? REG_UPDATE : REG_WRITE, pmc->addr,
				ctx->res->hw.sel[p], old);
	}
	for_each_row (d, transition_new_pmds(ctx, pg))
		plan_add(plan, give_up, pmu->pmds[d].addr, 0, ~0ULL);
	if (transition_new_global(ctx, pg))
		plan_add(plan, give_up, pmu->global_ctrl, 0, transition_new_global(ctx, pg));
	if (off)
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, ~0ULL, off);
	plan_run_all(run, &failed);
	if (written && failed.no)
		transition_note_unsure(ctx, pg);
	return -e->no;
}

/* Selector row @p's in-use bit, or 0 if the PMU has none. */
static uint64_t transition_inuse_bit(const struct pmu *pmu, unsigned p, const struct plan *plan)
{
	const struct reg_op *op = pmu->inuse ? plan_result(plan, pmu->inuse) : NULL;

	if (!op || pmu->pmcs[p].shared)
		return 0;
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmu->pmds[d].pmc == p && pmu->pmds[d].global >= 0)
			return op->value & (1ULL << pmu->pmds[d].global);
	return 0;
}

static int transition_conflict(
	struct core_run *run, unsigned p, uint64_t found, const char *what, struct err *e)
{
	run->conflict.addr = run->ctx->pmu->pmcs[p].addr;
	run->conflict.value = found;
	return err_set(e, EBUSY, "pmc%u on CPU %u %s", run->ctx->pmu->pmcs[p].num,
		run->ctx->target.cpu, what);
}

/* The number of a PMC that may be free, to use instead of row @p, or -1. */
static int transition_other_pmc(const struct core_run *run, const struct program *pg, unsigned p)
{
	const struct pmu *pmu = run->ctx->pmu;

	for (unsigned q = 0; q < pmu->npmcs; q++)
		if (q != p && !pmu->pmcs[q].shared && !(pg->to.pmcs & ROW(q)))
			return pmu->pmcs[q].num;
	return -1;
}

static int transition_in_use(
	struct core_run *run, const struct program *pg, unsigned p, uint64_t found, struct err *e)
{
	const struct pmu_pmc *pmc = &run->ctx->pmu->pmcs[p];
	bool alone = pmc->shared || pmc->restricts || pmc->with;
	int other = alone ? -1 : transition_other_pmc(run, pg, p);
	struct err what;

	err_set(&what, EBUSY, "is in use (stop what uses it)");
	if (other >= 0)
		err_set(&what, EBUSY, "is in use (stop what uses it, or take pmc%d)", other);
	return transition_conflict(run, p, found, what.text, e);
}

/*
 * Checks that the value read from selector row @p allows the transition. A disabled selector is
 * free even if it is not 0: perf leaves its own value behind, with the interrupt bit set. Without
 * that bit and with the in-use bit, another tool has programmed the selector and means to start it.
 */
static int transition_check_selector(
	struct core_run *run, const struct program *pg, unsigned p, struct err *e)
{
	struct context *ctx = run->ctx;
	const struct pmu_pmc *pmc = &ctx->pmu->pmcs[p];
	uint64_t found = plan_result(&run->plan, pmc->addr)->value;
	uint64_t fresh = program_new_bits(ctx, pg, p);
	uint64_t bad = (found ^ ctx->res->hw.sel[p]) & ctx->res->reserved_sel[p] &
		       ctx->res->hw.mask[p] & image_kept(ctx->pmu, p) & ~ctx->res->unsure[p];

	if (fresh && found & ((pmc->enable & fresh) | pmc->busy))
		return transition_in_use(run, pg, p, found, e);
	if (fresh && !(found & EVTSEL_INT) && transition_inuse_bit(ctx->pmu, p, &run->plan))
		return transition_conflict(run, p, found,
			"is programmed, though stopped (if nothing uses it, clear it with wrmsr)",
			e);
	if (!bad)
		return 0;
	if (ctx->state == CTX_RUNNING)
		counters_lose(ctx, counters_behind(ctx, p, bad), LOST_STOLEN);
	return transition_conflict(
		run, p, found, "was taken over (unload and load again to get a free one)", e);
}

static int transition_pause(struct core_run *run, const struct program *pg, struct err *e)
{
	struct context *ctx = run->ctx;
	struct plan *plan = &run->plan;
	uint64_t off = transition_global_off(ctx, pg);

	plan_clear(plan);
	if (!off)
		return 0;
	plan_add(plan, REG_UPDATE, ctx->pmu->global_ctrl, 0, off);
	if (!plan_run(run, plan))
		return err_copy(e, &plan->err);
	counters_paused(ctx, transition_going_off(ctx, pg), plan->op[0].value);
	return 0;
}

/* The row of the new ESCR that CCCR row @q, which is not the context's, chooses with @value;
 * -1: none. */
static int transition_new_escr(
	const struct context *ctx, const struct program *pg, unsigned q, uint64_t value)
{
	int escr = pg->to.mask[q] ? -1 : pmu_escr_of(ctx->pmu, q, value);

	return escr >= 0 && program_new_bits(ctx, pg, (unsigned)escr) ? escr : -1;
}

static bool transition_may_choose_new(
	const struct context *ctx, const struct program *pg, unsigned q)
{
	uint64_t select = ctx->pmu->pmcs[q].escr_select, value = select;

	for (; value; value = (value - 1) & select)
		if (transition_new_escr(ctx, pg, q, value) >= 0)
			return true;
	return transition_new_escr(ctx, pg, q, 0) >= 0;
}

static void transition_plan_check(
	const struct context *ctx, const struct program *pg, struct plan *plan)
{
	const struct pmu *pmu = ctx->pmu;
	bool reserves = false;

	plan_clear(plan);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		uint64_t fresh = program_new_bits(ctx, pg, p);

		if (!transition_needs(ctx, pg, p))
			continue;
		plan_add(plan, fresh ? REG_RESERVE : REG_READ, pmu->pmcs[p].addr, 0,
			reservation_bits(pmu, p, fresh));
		reserves = reserves || fresh;
	}
	for (unsigned q = 0; q < pmu->npmcs; q++)
		if (pmu->pmcs[q].escr_select && transition_may_choose_new(ctx, pg, q))
			plan_read(plan, pmu->pmcs[q].addr);
	for (unsigned d = 0; d < pmu->npmds; d++) {
		if (transition_new_pmds(ctx, pg) & ROW(d))
			plan_add(plan, REG_RESERVE, pmu->pmds[d].addr, 0, ~0ULL);
		else if (pmu->global_ctrl && (transition_going_off(ctx, pg) & ROW(d)))
			plan_read(plan, pmu->pmds[d].addr);
	}
	if (transition_new_global(ctx, pg))
		plan_add(plan, REG_RESERVE, pmu->global_ctrl, 0, transition_new_global(ctx, pg));
	if (pmu->inuse && reserves)
		plan_read(plan, pmu->inuse);
}

/* An ESCR has no bit that tells whether it is in use. The CCCR that chooses it has. */
static int transition_check_escrs(struct core_run *run, const struct program *pg, struct err *e)
{
	const struct context *ctx = run->ctx;
	const struct pmu *pmu = ctx->pmu;

	for (unsigned q = 0; q < pmu->npmcs; q++) {
		const struct reg_op *op = pmu->pmcs[q].escr_select && !pg->to.mask[q]
						  ? plan_result(&run->plan, pmu->pmcs[q].addr)
						  : NULL;

		if (op && op->value & pmu->pmcs[q].enable &&
			transition_new_escr(ctx, pg, q, op->value) >= 0)
			return transition_conflict(run, q, op->value,
				"uses an ESCR that this context needs (stop what uses it, or take "
				"the other ESCR of the pair)",
				e);
	}
	return 0;
}

static int transition_check(struct core_run *run, const struct program *pg, struct err *e)
{
	struct context *ctx = run->ctx;
	struct plan *plan = &run->plan;

	transition_plan_check(ctx, pg, plan);
	if (plan->n && !plan_run(run, plan))
		return err_copy(e, &plan->err);
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (transition_needs(ctx, pg, p) && transition_check_selector(run, pg, p, e) < 0)
			return -e->no;
	if (transition_check_escrs(run, pg, e) < 0)
		return -e->no;
	if (ctx->pmu->global_ctrl)
		counters_fold(run, transition_going_off(ctx, pg), plan);
	return 0;
}

static void transition_plan_write(struct context *ctx, const struct program *pg, struct plan *plan)
{
	const struct pmu *pmu = ctx->pmu;
	uint64_t stop = transition_new_global(ctx, pg);
	/* A stopped counter may have been used by another program, or have run in a start
	 * that failed. */
	pmu_rows fresh = (pg->to.pmds & ~ctx->res->hw.pmds) |
			 (transition_counting(&pg->to) & ~transition_counting(&ctx->res->hw));

	plan_clear(plan);
	if (stop)
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, 0, stop);
	program_counters(ctx, fresh, 0, NULL, plan);
	program_selectors(ctx, pg, plan);
	for_each_row (d, pmu->global_ctrl ? 0 : transition_going_off(ctx, pg))
		plan_read(plan, pmu->pmds[d].addr);
}

static int transition_write(struct core_run *run, const struct program *pg, struct err *e)
{
	struct context *ctx = run->ctx;
	const struct pmu *pmu = ctx->pmu;
	struct plan *plan = &run->plan;

	transition_plan_write(ctx, pg, plan);
	if (plan->n && !plan_run(run, plan))
		return err_copy(e, &plan->err);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		const struct reg_op *op = plan_result(plan, pmu->pmcs[p].addr);

		if (op && op->verb == REG_READ &&
			((op->value ^ pg->to.sel[p]) & pg->to.mask[p] & image_kept(pmu, p)))
			return err_set(e, EIO,
				"pmc%u on CPU %u does not keep 0x%" PRIx64
				" and reads back as 0x%" PRIx64
				": this CPU lacks some of the bits, so leave those out",
				pmu->pmcs[p].num, ctx->target.cpu, pg->to.sel[p], op->value);
	}
	if (!pmu->global_ctrl)
		counters_fold(run, transition_going_off(ctx, pg), plan);
	return 0;
}

static void transition_reserve(struct context *ctx, const struct program *pg)
{
	ctx->res->reserved_pmds |= transition_new_pmds(ctx, pg);
	ctx->res->reserved_global |= transition_new_global(ctx, pg);
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		ctx->res->reserved_sel[p] |= pg->to.mask[p];
	if (ctx->res->any_unsure)
		memset(ctx->res->unsure, 0, sizeof(ctx->res->unsure));
	ctx->res->any_unsure = false;
}

int transition(struct core_run *run, const struct image *to, bool leave_last, struct err *e)
{
	struct context *ctx = run->ctx;
	struct program pg = {.to = *to};

	if (ctx_saved(ctx))
		return 0;
	run->moved = true;
	transition_keep_reserved(ctx, &pg.to);
	if (transition_pause(run, &pg, e) < 0)
		return -e->no;
	if (transition_check(run, &pg, e) < 0)
		return transition_undo(run, &pg, false, e);
	if (transition_write(run, &pg, e) < 0)
		return transition_undo(run, &pg, true, e);
	program_commit(run, &pg);
	transition_reserve(ctx, &pg);
	if (!run->plan.n)
		return 0;
	if (leave_last)
		return CORE_LAST;
	return plan_run(run, &run->plan) ? 0 : transition_last_failed(run, e);
}

int transition_last_failed(struct core_run *run, struct err *e)
{
	struct program pg = {.to = run->ctx->res->hw};

	*e = run->plan.err;
	run->ctx->res->hw = run->undo.image;
	return transition_undo(run, &pg, true, e);
}
