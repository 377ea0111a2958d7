// SPDX-License-Identifier: MIT
/*
 * Moving the hardware from one image to another, in at most three rounds:
 *
 *   quiet   where there is a global control, the counters that go off are stopped by one write,
 *           all at the same instant; nothing else comes before it, as they still count
 *   look    what is new is claimed (its original is read and kept), what will be changed is
 *           read, to see that it is ours, and the counters that went off are read
 *   set     counters, then selectors, and the global control last: all start at one instant
 *
 * Stopping and unloading are forced: they carry on past registers that were taken over, leave
 * those alone and mark the counts lost. Anything else is all or nothing.
 */
#include "daemon/core/core_i.h"

#include <inttypes.h>

static uint32_t counting(const struct image *im)
{
	return im->running ? im->pmds : 0;
}

static uint32_t going_off(const struct context *ctx, const struct step *st)
{
	return counting(&ctx->hw) & ~counting(&st->target);
}

static uint32_t new_pmds(const struct context *ctx, const struct step *st)
{
	return st->target.pmds & ~ctx->hw.pmds;
}

static uint64_t new_global(const struct context *ctx, const struct step *st)
{
	return image_global_bits(ctx->pmu, st->target.pmds) & ~ctx->claimed_global;
}

static uint64_t new_bits(const struct context *ctx, const struct step *st, unsigned p)
{
	return st->target.mask[p] & ~ctx->claimed_sel[p];
}

/* Whether selector row @p is touched at all. */
static bool changes(const struct context *ctx, const struct step *st, unsigned p)
{
	if (!(st->target.pmcs & ROW(p)) || !st->target.mask[p])
		return false;
	return st->release || new_bits(ctx, st, p) ||
		((st->target.sel[p] ^ ctx->hw.sel[p]) & st->target.mask[p]);
}

/* What is no longer used stays claimed, at its default, until the context is unloaded. */
static void keep_claimed(const struct context *ctx, struct image *target)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		if (!(ctx->hw.pmcs & ROW(p)))
			continue;
		if (!(target->pmcs & ROW(p)))
			target->sel[p] = ctx->pmu->pmcs[p].def;
		target->pmcs |= ROW(p);
		target->mask[p] |= ctx->hw.mask[p];
	}
}

bool transition_active(const struct step *st)
{
	return st->phase >= PHASE_LOOK && st->phase <= PHASE_UNDO;
}

int transition_begin(struct context *ctx, struct step *st, struct plan *plan, uint64_t now,
	struct err *e)
{
	uint64_t off = ctx->hw.global & ~st->target.global;

	plan_clear(plan);
	st->phase = PHASE_LOOK;
	if (off) {
		plan_add(plan, REG_UPDATE, ctx->pmu->global_ctrl, 0, off);
		return CORE_RUN;
	}
	return transition_step(ctx, st, plan, now, e);
}

static int done(struct context *ctx, struct step *st, uint64_t now)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		ctx->claimed_sel[p] |= st->target.mask[p];
	ctx->claimed_pmds |= st->target.pmds;
	ctx->claimed_global |= image_global_bits(ctx->pmu, st->target.pmds);
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if (counting(&st->target) & ~counting(&ctx->hw) & ROW(d))
			ctx->active->pmd[d].looked = now;
	ctx->hw = st->target;
	st->phase = PHASE_START;
	return CORE_DONE;
}

/* Fails with @e after the plan that puts things back has run. */
static int fail(struct step *st, struct plan *plan, const struct err *e)
{
	st->err = *e;
	st->phase = plan->n ? PHASE_UNDO : PHASE_START;
	return plan->n ? CORE_RUN : -e->no;
}

/* Nothing was written yet but the global control: let go of what was claimed. */
static int back_off(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;
	uint64_t off = ctx->hw.global & ~st->target.global;

	plan_clear(plan);
	if (off)
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, off, off);
	for (unsigned p = 0; p < pmu->npmcs; p++)
		if ((st->target.pmcs & ROW(p)) && new_bits(ctx, st, p))
			plan_add(plan, REG_FORGET, pmu->pmcs[p].addr, 0, new_bits(ctx, st, p));
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (st->target.pmds & ~ctx->claimed_pmds & ROW(d))
			plan_add(plan, REG_FORGET, pmu->pmds[d].addr, 0, ~0ULL);
	if (new_global(ctx, st))
		plan_add(plan, REG_FORGET, pmu->global_ctrl, 0, new_global(ctx, st));
	return fail(st, plan, e);
}

/* Something was written: write back what was there. */
static int undo(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;
	uint64_t on = st->target.global & ~ctx->hw.global;
	uint64_t off = ctx->hw.global & ~st->target.global;

	plan_clear(plan);
	if (on)
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, 0, on);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		uint64_t fresh = new_bits(ctx, st, p), old = st->target.mask[p] & ~fresh;

		if (!changes(ctx, st, p))
			continue;
		if (fresh)
			plan_add(plan, REG_RELEASE, pmu->pmcs[p].addr, 0, fresh);
		if (old)
			plan_add(plan, pmu->pmcs[p].shared ? REG_UPDATE : REG_WRITE,
				pmu->pmcs[p].addr, ctx->hw.sel[p], old);
	}
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (st->target.pmds & ~ctx->claimed_pmds & ROW(d))
			plan_add(plan, REG_RELEASE, pmu->pmds[d].addr, 0, ~0ULL);
	if (new_global(ctx, st))
		plan_add(plan, REG_RELEASE, pmu->global_ctrl, 0, new_global(ctx, st));
	if (off)
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, off, off);
	return fail(st, plan, e);
}

/* The counters that the global control has just stopped: had it been on all the time? */
static int quiet_done(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	uint32_t off = going_off(ctx, st);

	if (plan_failed(plan)) {
		*e = plan->err;
		if (!st->forced)
			return -e->no;
		counters_lose(ctx, off, e->no == ENXIO ? LOST_OFFLINE : LOST_FAULT);
		return 0;
	}
	for (unsigned d = 0; plan->n && d < ctx->pmu->npmds; d++)
		if ((off & ROW(d)) && (image_global_bits(ctx->pmu, ROW(d)) & ~plan->op[0].value))
			counters_lose(ctx, ROW(d), LOST_PAUSED);
	return 0;
}

static void read_counters(const struct context *ctx, uint32_t pmds, struct plan *plan)
{
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if (pmds & ROW(d))
			plan_add(plan, REG_READ, ctx->pmu->pmds[d].addr, 0, 0);
}

static int look(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;
	bool claims = false;
	int rc = quiet_done(ctx, st, plan, e);

	if (rc < 0) {
		st->phase = PHASE_START;
		return rc;
	}
	keep_claimed(ctx, &st->target);
	plan_clear(plan);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		uint64_t fresh = new_bits(ctx, st, p);

		if (!changes(ctx, st, p))
			continue;
		plan_add(plan, fresh ? REG_CLAIM : REG_READ, pmu->pmcs[p].addr, 0, fresh);
		claims = claims || fresh;
	}
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (st->target.pmds & ~ctx->claimed_pmds & ROW(d))
			plan_add(plan, REG_CLAIM, pmu->pmds[d].addr, 0, ~0ULL);
	if (new_global(ctx, st))
		plan_add(plan, REG_CLAIM, pmu->global_ctrl, 0, new_global(ctx, st));
	if (pmu->inuse && claims)
		plan_add(plan, REG_READ, pmu->inuse, 0, 0);
	if (pmu->global_ctrl)
		read_counters(ctx, going_off(ctx, st), plan);
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
static int selector_check(struct context *ctx, struct step *st, unsigned p,
	const struct plan *plan, struct err *e)
{
	const struct pmu_pmc *pmc = &ctx->pmu->pmcs[p];
	const struct reg_op *op = plan_result(plan, pmc->addr);
	uint64_t fresh = new_bits(ctx, st, p), bad;

	if (!op)
		return 0;
	if (op->value & pmc->enable & fresh)
		return blame(ctx, st, p, op->value, "is held", e);
	if (fresh && !(op->value & EVTSEL_INT) && inuse_bit(ctx->pmu, p, plan))
		return blame(ctx, st, p, op->value,
			"is programmed, though stopped (if nothing uses it, clear it with wrmsr)", e);
	bad = (op->value ^ ctx->hw.sel[p]) & ctx->claimed_sel[p] & ctx->hw.mask[p];
	if (!bad)
		return 0;
	counters_lose(ctx, counters_behind(ctx, p, bad), LOST_STOLEN);
	if (!st->forced)
		return blame(ctx, st, p, op->value,
			"was taken over (unload and load again to get a free one)", e);
	bad = pmc->shared ? bad : ~0ULL;
	if (pmc->shared)
		for (unsigned d = 0; d < ctx->pmu->npmds; d++)
			if (ctx->pmu->pmds[d].pmc == p && (bad & ctx->pmu->pmds[d].field))
				bad |= ctx->pmu->pmds[d].field;
	st->target.mask[p] &= ~bad;
	return 0;
}

static void set_selector(struct context *ctx, const struct step *st, unsigned p,
	struct plan *plan)
{
	const struct pmu_pmc *pmc = &ctx->pmu->pmcs[p];
	uint64_t taken_over = ctx->claimed_sel[p] & ctx->hw.mask[p] & ~st->target.mask[p];
	uint64_t altered = (st->target.sel[p] ^ ctx->hw.sel[p]) & ~pmc->enable;

	if (taken_over) {
		plan_add(plan, REG_FORGET, pmc->addr, 0, taken_over);
		ctx->claimed_sel[p] &= ~taken_over;
	}
	if (!changes(ctx, st, p))
		return;
	if (st->release) {
		plan_add(plan, REG_RELEASE, pmc->addr, 0, st->target.mask[p]);
		return;
	}
	if (pmc->shared)
		plan_add(plan, REG_UPDATE, pmc->addr, st->target.sel[p], st->target.mask[p]);
	else
		plan_add(plan, REG_WRITE, pmc->addr, st->target.sel[p], ~0ULL);
	/* A bit that the CPU does not have, or a hypervisor without a PMU, shows at once. */
	if (altered || new_bits(ctx, st, p))
		plan_add(plan, REG_READ, pmc->addr, 0, 0);
}

static void set_counters(struct context *ctx, const struct step *st, struct plan *plan)
{
	uint32_t fresh = new_pmds(ctx, st);

	for (unsigned d = 0; d < ctx->pmu->npmds; d++) {
		struct pmd_state *s = &ctx->active->pmd[d];

		if (!(fresh & ROW(d)))
			continue;
		s->hw = s->value & ctx->pmu->pmds[d].wmask;
		plan_add(plan, REG_WRITE, ctx->pmu->pmds[d].addr, s->hw, ~0ULL);
	}
}

static void fold_stopped(struct context *ctx, const struct step *st, const struct plan *plan,
	uint64_t now)
{
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if (going_off(ctx, st) & ROW(d))
			counter_fold(ctx, d, plan, now);
}

static int set(struct context *ctx, struct step *st, struct plan *plan, uint64_t now,
	struct err *e)
{
	const struct pmu *pmu = ctx->pmu;
	uint64_t on = st->target.global & ~ctx->hw.global;
	struct plan *looked = plan;
	int rc;

	if (plan_failed(looked)) {
		*e = looked->err;
		if (!st->forced)
			return back_off(ctx, st, plan, e);
		counters_lose(ctx, going_off(ctx, st), e->no == ENXIO ? LOST_OFFLINE : LOST_FAULT);
		if (e->no == ENXIO)
			return done(ctx, st, now);
	}
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		rc = changes(ctx, st, p) ? selector_check(ctx, st, p, looked, e) : 0;
		if (rc < 0)
			return back_off(ctx, st, plan, e);
	}
	if (pmu->global_ctrl)
		fold_stopped(ctx, st, looked, now);
	plan_clear(plan);
	set_counters(ctx, st, plan);
	for (unsigned p = 0; p < pmu->npmcs; p++)
		if (st->target.pmcs & ROW(p))
			set_selector(ctx, st, p, plan);
	if (!pmu->global_ctrl)
		read_counters(ctx, going_off(ctx, st), plan);
	if (new_global(ctx, st) & ~on)
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, 0, new_global(ctx, st) & ~on);
	if (on)
		plan_add(plan, REG_UPDATE, pmu->global_ctrl, on, on);
	st->phase = PHASE_COMMIT;
	return plan->n ? CORE_RUN : done(ctx, st, now);
}

/* What comes of a forced transition whose writes fail. */
static int commit_forced(struct context *ctx, struct step *st, struct plan *plan, uint64_t now,
	struct err *e)
{
	*e = plan->err;
	if (e->no == ENXIO) {
		counters_lose(ctx, going_off(ctx, st), LOST_OFFLINE);
		return done(ctx, st, now);
	}
	if (!st->release) {
		st->phase = PHASE_START;
		return -e->no; /* it may still be counting: the context stays running */
	}
	st->err = *e;
	return plan_rest(plan) ? CORE_RUN : done(ctx, st, now);
}

static int commit(struct context *ctx, struct step *st, struct plan *plan, uint64_t now,
	struct err *e)
{
	const struct pmu *pmu = ctx->pmu;

	if (plan_failed(plan)) {
		if (st->forced)
			return commit_forced(ctx, st, plan, now, e);
		*e = plan->err;
		return undo(ctx, st, plan, e);
	}
	for (unsigned p = 0; !st->release && p < pmu->npmcs; p++) {
		const struct reg_op *op = plan_result(plan, pmu->pmcs[p].addr);

		if (!op || op->verb != REG_READ ||
			!((op->value ^ st->target.sel[p]) & st->target.mask[p]))
			continue;
		err_set(e, EIO,
			"pmc%u on CPU %u does not keep 0x%" PRIx64 ", it reads back 0x%" PRIx64
			": this CPU lacks some of the bits", pmu->pmcs[p].num, ctx->cpu,
			st->target.sel[p], op->value);
		return undo(ctx, st, plan, e);
	}
	if (!pmu->global_ctrl)
		fold_stopped(ctx, st, plan, now);
	return done(ctx, st, now);
}

int transition_step(struct context *ctx, struct step *st, struct plan *plan, uint64_t now,
	struct err *e)
{
	int rc;

	switch (st->phase) {
	case PHASE_LOOK:
		rc = look(ctx, st, plan, e);
		if (rc != CORE_RUN || plan->n)
			return rc;
		__attribute__((fallthrough));
	case PHASE_SET:
		return set(ctx, st, plan, now, e);
	case PHASE_COMMIT:
		return commit(ctx, st, plan, now, e);
	default: /* PHASE_UNDO */
		if (plan_failed(plan) && plan_rest(plan))
			return CORE_RUN;
		*e = st->err;
		st->phase = PHASE_START;
		return -e->no;
	}
}
