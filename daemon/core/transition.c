// SPDX-License-Identifier: MIT
/*
 * Moving the hardware from one image to another, all or nothing (load, start, a rewritten PMC; a
 * set switch cannot turn back, see switch.c):
 *
 *   quiet   where there is a global control, the counters that go off are stopped by one write,
 *           all at the same instant
 *   look    what is new is claimed (its original is read and kept), what will be changed is
 *           read, to see that it is ours, and the counters that went off are read
 *   set     counters and selectors are written, and selectors read back
 *   enable  last of all, what makes the counters count; everything is settled before it
 */
#include "daemon/core/core_i.h"

#include <inttypes.h>

static uint32_t counting(const struct image *im)
{
	return im->running ? im->pmds : 0;
}

static uint32_t going_off(const struct context *ctx, const struct step *st)
{
	return counting(&ctx->hold->hw) & ~counting(&st->target);
}

static uint64_t global_on(const struct context *ctx, const struct step *st)
{
	return st->target.global & ~ctx->hold->hw.global;
}

static uint64_t global_off(const struct context *ctx, const struct step *st)
{
	return ctx->hold->hw.global & ~st->target.global;
}

static uint64_t new_global(const struct context *ctx, const struct step *st)
{
	return image_global_bits(ctx->pmu, st->target.pmds | st->target.spare) &
	       ~ctx->hold->claimed_global;
}

static uint32_t new_pmds(const struct context *ctx, const struct step *st)
{
	return (st->target.pmds | st->target.spare) & ~ctx->hold->claimed_pmds;
}

static uint64_t new_bits(const struct context *ctx, const struct step *st, unsigned p)
{
	return st->target.mask[p] & ~ctx->hold->claimed_sel[p];
}

/* Whether selector row @p is touched at all. */
static bool changes(const struct context *ctx, const struct step *st, unsigned p)
{
	return (st->target.pmcs & ROW(p)) &&
	       (new_bits(ctx, st, p) ||
		       ((st->target.sel[p] ^ ctx->hold->hw.sel[p]) & st->target.mask[p]));
}

/* ... or has been selecting a counter that now goes off, whose count is to be told. */
static bool matters(const struct context *ctx, const struct step *st, unsigned p)
{
	return changes(ctx, st, p) || (selectors_of(ctx->pmu, going_off(ctx, st)) & ROW(p));
}

/* It holds what it has to already but for the bits that let it count. */
static bool only_enables(const struct context *ctx, const struct step *st, unsigned p)
{
	return !new_bits(ctx, st, p) && !((st->target.sel[p] ^ ctx->hold->hw.sel[p]) &
						st->target.mask[p] & ~ctx->pmu->pmcs[p].enable);
}

/* With a global control, that is what enables; else each selector does. */
static bool enables_last(const struct context *ctx, const struct step *st, unsigned p)
{
	return !ctx->pmu->global_ctrl && st->target.running && only_enables(ctx, st, p);
}

/* What is no longer used stays claimed, at its default, until the context is unloaded. */
static void keep_claimed(const struct context *ctx, struct image *target)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		if (!(ctx->hold->hw.pmcs & ROW(p)))
			continue;
		if (!(target->pmcs & ROW(p)))
			target->sel[p] = ctx->pmu->pmcs[p].def;
		target->pmcs |= ROW(p);
		target->mask[p] |= ctx->hold->hw.mask[p];
	}
}

bool transition_active(const struct step *st)
{
	return st->phase >= PHASE_LOOK && st->phase <= PHASE_UNDO;
}

int transition_begin(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	/* Its registers get it when its thread comes to a CPU. */
	if (ctx_parked(ctx))
		return CORE_DONE;
	st->moves = true;
	keep_claimed(ctx, &st->target);
	plan_clear(plan);
	st->phase = PHASE_LOOK;
	if (!global_off(ctx, st))
		return transition_step(ctx, st, plan, e);
	plan_add(plan, REG_UPDATE, ctx->pmu->global_ctrl, 0, global_off(ctx, st));
	return CORE_RUN;
}

/* Fails with @e after the plan that puts things back has run. */
static int fail(struct step *st, struct plan *plan, const struct err *e)
{
	st->err = *e;
	st->phase = plan->n ? PHASE_UNDO : PHASE_START;
	return plan->n ? CORE_RUN : -e->no;
}

/* What ran all along had been disturbed before this came to nothing: paused, or misled. */
static void lose_disturbed(struct context *ctx, const struct step *st)
{
	uint32_t disturbed = going_off(ctx, st);

	if (ctx->state != CTX_RUNNING)
		return;
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (changes(ctx, st, p))
			disturbed |= counters_behind(ctx, p, st->target.mask[p]);
	counters_lose(ctx, disturbed, LOST_PAUSED);
}

/* Nothing was written yet but the global control: let go of what was claimed. */
static int back_off(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;

	if (global_off(ctx, st))
		lose_disturbed(ctx, st);
	plan_clear(plan);
	for (unsigned p = 0; p < pmu->npmcs; p++)
		if ((st->target.pmcs & ROW(p)) && new_bits(ctx, st, p))
			plan_add(plan, REG_FORGET, pmu->pmcs[p].addr, 0, new_bits(ctx, st, p));
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (new_pmds(ctx, st) & ROW(d))
			plan_add(plan, REG_FORGET, pmu->pmds[d].addr, 0, ~0ULL);
	if (new_global(ctx, st))
		plan_add(plan, REG_FORGET, pmu->global_ctrl, 0, new_global(ctx, st));
	if (global_off(ctx, st))
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, ~0ULL, global_off(ctx, st));
	return fail(st, plan, e);
}

/* Something was written: write back what was there. */
static int undo(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;

	lose_disturbed(ctx, st);
	plan_clear(plan);
	if (global_on(ctx, st))
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, 0, global_on(ctx, st));
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		uint64_t fresh = new_bits(ctx, st, p), old = st->target.mask[p] & ~fresh;

		if (!changes(ctx, st, p))
			continue;
		if (fresh)
			plan_add(plan, REG_RELEASE, pmu->pmcs[p].addr, 0, fresh);
		if (old)
			plan_add(plan, pmu->pmcs[p].shared ? REG_UPDATE : REG_WRITE,
				pmu->pmcs[p].addr, ctx->hold->hw.sel[p], old);
	}
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (new_pmds(ctx, st) & ROW(d))
			plan_add(plan, REG_RELEASE, pmu->pmds[d].addr, 0, ~0ULL);
	if (new_global(ctx, st))
		plan_add(plan, REG_RELEASE, pmu->global_ctrl, 0, new_global(ctx, st));
	if (global_off(ctx, st))
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, ~0ULL, global_off(ctx, st));
	return fail(st, plan, e);
}

static int look(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;
	bool claims = false;

	if (plan_failed(plan)) {
		*e = plan->err;
		st->phase = PHASE_START;
		return -e->no;
	}
	if (plan->n)
		counters_paused(ctx, going_off(ctx, st), plan->op[0].value);
	plan_clear(plan);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		uint64_t fresh = new_bits(ctx, st, p);

		if (!matters(ctx, st, p))
			continue;
		plan_add(plan, fresh ? REG_CLAIM : REG_READ, pmu->pmcs[p].addr, 0, fresh);
		claims = claims || fresh;
	}
	for (unsigned d = 0; d < pmu->npmds; d++) {
		if (new_pmds(ctx, st) & ROW(d))
			plan_add(plan, REG_CLAIM, pmu->pmds[d].addr, 0, ~0ULL);
		else if (pmu->global_ctrl && (going_off(ctx, st) & ROW(d)))
			plan_add(plan, REG_READ, pmu->pmds[d].addr, 0, 0);
	}
	if (new_global(ctx, st))
		plan_add(plan, REG_CLAIM, pmu->global_ctrl, 0, new_global(ctx, st));
	if (pmu->inuse && claims)
		plan_add(plan, REG_READ, pmu->inuse, 0, 0);
	st->phase = PHASE_SET;
	return CORE_RUN;
}

/* Row @p's in-use bit, or 0 where the PMU does not tell. */
static uint64_t inuse_bit(const struct pmu *pmu, unsigned p, const struct plan *plan)
{
	const struct reg_op *op = pmu->inuse ? plan_result(plan, pmu->inuse) : NULL;

	if (!op || pmu->pmcs[p].shared)
		return 0;
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmu->pmds[d].pmc == p && pmu->pmds[d].global >= 0)
			return op->value & (1ULL << pmu->pmds[d].global);
	return 0;
}

static int blame(const struct context *ctx, struct step *st, unsigned p, uint64_t found,
	const char *what, struct err *e)
{
	st->blame = ctx->pmu->pmcs[p].addr;
	st->blame_value = found;
	return err_set(e, EBUSY, "pmc%u on CPU %u %s", ctx->pmu->pmcs[p].num, ctx->cpu, what);
}

/*
 * Whether what was found in selector @p lets us go on. A disabled selector is free to take even
 * if it is not 0: perf leaves its own behind, with the interrupt bit set. Without that bit and
 * with the in-use bit, another tool has programmed it and means to start it.
 */
static int selector_check(
	struct context *ctx, struct step *st, unsigned p, const struct plan *plan, struct err *e)
{
	const struct pmu_pmc *pmc = &ctx->pmu->pmcs[p];
	const struct reg_op *op = plan_result(plan, pmc->addr);
	uint64_t fresh = new_bits(ctx, st, p);
	uint64_t bad = (op->value ^ ctx->hold->hw.sel[p]) & ctx->hold->claimed_sel[p] &
		       ctx->hold->hw.mask[p];

	if (op->value & pmc->enable & fresh)
		return blame(ctx, st, p, op->value, "is held", e);
	if (fresh && !(op->value & EVTSEL_INT) && inuse_bit(ctx->pmu, p, plan))
		return blame(ctx, st, p, op->value,
			"is programmed, though stopped (if nothing uses it, clear it with wrmsr)",
			e);
	if (!bad)
		return 0;
	if (ctx->state == CTX_RUNNING)
		counters_lose(ctx, counters_behind(ctx, p, bad), LOST_STOLEN);
	return blame(ctx, st, p, op->value,
		"was taken over (unload and load again to get a free one)", e);
}

static void set_counters(struct context *ctx, const struct step *st, struct plan *plan)
{
	/* One that stood still may have been used by others, or have run in a start that failed. */
	uint32_t fresh = (st->target.pmds & ~ctx->hold->hw.pmds) |
			 (counting(&st->target) & ~counting(&ctx->hold->hw));

	for (unsigned d = 0; d < ctx->pmu->npmds; d++) {
		struct pmd_state *s = &ctx->active->pmd[d];

		if (!(fresh & ROW(d)))
			continue;
		s->hw = s->n.value & ctx->pmu->pmds[d].wmask;
		plan_add(plan, REG_WRITE, ctx->pmu->pmds[d].addr, s->hw, ~0ULL);
	}
}

void plan_selector(const struct context *ctx, const struct step *st, unsigned p, struct plan *plan)
{
	const struct pmu_pmc *pmc = &ctx->pmu->pmcs[p];

	if (pmc->shared)
		plan_add(plan, REG_UPDATE, pmc->addr, st->target.sel[p], st->target.mask[p]);
	else
		plan_add(plan, REG_WRITE, pmc->addr, st->target.sel[p], ~0ULL);
}

static int set(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;
	uint64_t quiet = new_global(ctx, st);

	if (plan_failed(plan)) {
		*e = plan->err;
		return back_off(ctx, st, plan, e);
	}
	for (unsigned p = 0; p < pmu->npmcs; p++)
		if (matters(ctx, st, p) && selector_check(ctx, st, p, plan, e) < 0)
			return back_off(ctx, st, plan, e);
	if (pmu->global_ctrl)
		counters_fold(ctx, going_off(ctx, st), plan);

	plan_clear(plan);
	if (quiet)
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, 0, quiet);
	set_counters(ctx, st, plan);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		if (!changes(ctx, st, p) || enables_last(ctx, st, p))
			continue;
		plan_selector(ctx, st, p, plan);
		/* A bit that the CPU does not have, or a hypervisor without a PMU, shows at once.
		 */
		if (!only_enables(ctx, st, p))
			plan_add(plan, REG_READ, pmu->pmcs[p].addr, 0, 0);
	}
	if (!pmu->global_ctrl)
		for (unsigned d = 0; d < pmu->npmds; d++)
			if (going_off(ctx, st) & ROW(d))
				plan_add(plan, REG_READ, pmu->pmds[d].addr, 0, 0);
	st->phase = PHASE_COMMIT;
	return CORE_RUN;
}

/* The hardware is what it was to be, or is by the next plan; the old image is kept for undo(). */
static void settle(struct context *ctx, struct step *st, uint64_t now)
{
	struct image old = ctx->hold->hw;

	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if (counting(&st->target) & ~counting(&ctx->hold->hw) & ROW(d))
			ctx->active->pmd[d].looked = now;
	ctx->hold->claimed_pmds |= new_pmds(ctx, st);
	ctx->hold->claimed_global |= new_global(ctx, st);
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		ctx->hold->claimed_sel[p] |= st->target.mask[p];
	ctx->hold->hw = st->target;
	st->target = old;
}

static void plan_enable(const struct context *ctx, const struct step *st, struct plan *plan)
{
	plan_clear(plan);
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (changes(ctx, st, p) && enables_last(ctx, st, p))
			plan_selector(ctx, st, p, plan);
	if (global_on(ctx, st))
		plan_add(plan, REG_UPDATE, ctx->pmu->global_ctrl, ~0ULL, global_on(ctx, st));
}

static int commit(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;

	if (plan_failed(plan)) {
		*e = plan->err;
		return undo(ctx, st, plan, e);
	}
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		const struct reg_op *op = plan_result(plan, pmu->pmcs[p].addr);

		if (!op || op->verb != REG_READ ||
			!((op->value ^ st->target.sel[p]) & st->target.mask[p]))
			continue;
		err_set(e, EIO,
			"pmc%u on CPU %u does not keep 0x%" PRIx64 ", it reads back 0x%" PRIx64
			": this CPU lacks some of the bits",
			pmu->pmcs[p].num, ctx->cpu, st->target.sel[p], op->value);
		return undo(ctx, st, plan, e);
	}
	if (!pmu->global_ctrl)
		counters_fold(ctx, going_off(ctx, st), plan);
	plan_enable(ctx, st, plan);
	settle(ctx, st, plan->at);
	st->phase = plan->n ? PHASE_ENABLE : PHASE_START;
	return plan->n ? CORE_RUN : CORE_DONE;
}

static int enabled(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	struct image new = ctx->hold->hw;

	if (!plan_failed(plan)) {
		st->phase = PHASE_START;
		return CORE_DONE;
	}
	*e = plan->err;
	ctx->hold->hw = st->target;
	st->target = new;
	return undo(ctx, st, plan, e);
}

int transition_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	int rc;

	switch (st->phase) {
	case PHASE_LOOK:
		rc = look(ctx, st, plan, e);
		if (rc != CORE_RUN || plan->n)
			return rc;
		__attribute__((fallthrough));
	case PHASE_SET:
		rc = set(ctx, st, plan, e);
		if (rc != CORE_RUN || plan->n)
			return rc;
		__attribute__((fallthrough));
	case PHASE_COMMIT:
		return commit(ctx, st, plan, e);
	case PHASE_ENABLE:
		return enabled(ctx, st, plan, e);
	default: /* PHASE_UNDO */
		if (plan_failed(plan) && plan_rest(plan))
			return CORE_RUN;
		*e = st->err;
		st->phase = PHASE_START;
		return -e->no;
	}
}
