// SPDX-License-Identifier: MIT
/*
 * Switching from the active set to another while monitoring (specification 3.7.6). What all sets
 * need was claimed by load, so only what differs is written:
 *
 *   quiet   the counters are stopped, by the plan that is made in advance
 *   look    they are read, and their selectors, to see that they were ours
 *   set     the next set's counters and selectors are written
 *   enable  last of all, what makes them count
 *
 * Like stopping, it never turns back: what cannot be read or written costs its counts, and if it
 * is a register of the next set, all of that set's; the context is then running, half-way, until
 * it is stopped or unloaded.
 */
#include "daemon/core/core_i.h"

int switch_begin(struct context *ctx, struct step *st, struct plan *plan, struct evtset *to)
{
	ctx_quiet_plan(ctx, plan);
	plan->virt.want = virtuals_sampled(ctx);
	st->to = to;
	st->moves = true;
	st->phase = PHASE_SWITCH_QUIET;
	return CORE_RUN;
}

bool switch_active(const struct step *st)
{
	return st->phase >= PHASE_SWITCH_QUIET && st->phase <= PHASE_SWITCH_ENABLE;
}

/* It cannot go on: @why explains. The counters stand still, or that is not known. */
static int give_up(struct context *ctx, struct step *st, const struct err *why, struct err *e)
{
	counters_lose(ctx, ctx->hold->hw.pmds, why->no == ENXIO ? LOST_OFFLINE : LOST_FAULT);
	ctx->hold->hw.halted = true;
	st->phase = PHASE_START;
	*e = *why;
	return -e->no;
}

/* What the next set does not use is left as it is: it counts nothing that anybody reads. */
static void aim(const struct context *ctx, struct step *st)
{
	struct image *to = &st->target;

	image_of(ctx->pmu, st->to->pmc, true, to);
	to->pmcs |= ctx->hold->hw.pmcs;
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		to->sel[p] = (to->sel[p] & to->mask[p]) | (ctx->hold->hw.sel[p] & ~to->mask[p]);
		to->mask[p] = ctx->hold->hw.mask[p];
	}
}

static bool changes(const struct context *ctx, const struct step *st, unsigned p)
{
	return (st->target.sel[p] ^ ctx->hold->hw.sel[p]) & st->target.mask[p];
}

/* What counted is read, and what is going to be written is seen to be ours. */
void switch_look(struct context *ctx, struct step *st, struct plan *plan)
{
	uint32_t rows = selectors_of(ctx->pmu, ctx->hold->hw.pmds);

	aim(ctx, st);
	plan_clear(plan);
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if ((ctx->hold->hw.pmds & ROW(d)) && !ctx->active->pmd[d].lost)
			plan_add(plan, REG_READ, ctx->pmu->pmds[d].addr, 0, 0);
	/* Without a global control, stopping them has told what the selectors held. */
	for (unsigned p = 0; ctx->hold->hw.global && p < ctx->pmu->npmcs; p++)
		if ((rows & ROW(p)) || changes(ctx, st, p))
			plan_add(plan, REG_READ, ctx->pmu->pmcs[p].addr, 0, 0);
}

static int quiet(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	time_account(ctx, plan->at);
	if (!ctx->hold->hw.global)
		stop_take(ctx, st, plan);
	if (plan_failed(plan))
		return give_up(ctx, st, &plan->err, e);
	if (ctx->hold->hw.global)
		counters_paused(ctx, ctx->hold->hw.pmds, plan->op[0].value);
	if (!st->to)
		st->to = ctx->active->next;
	switch_look(ctx, st, plan);
	st->phase = PHASE_SWITCH_LOOK;
	return CORE_RUN;
}

/* Counters whose selectors somebody else has taken over since load cannot be had any more. */
static void do_without(struct context *ctx, struct step *st)
{
	const struct pmu *pmu = ctx->pmu;

	for (unsigned d = 0; d < pmu->npmds; d++) {
		if (!(st->target.pmds & ROW(d)) ||
			!(image_field(pmu, d) & ~ctx->hold->claimed_sel[pmu->pmds[d].pmc]))
			continue;
		counters_lose(ctx, ROW(d), LOST_STOLEN);
		st->target.pmds &= ~ROW(d);
	}
	st->target.global = image_global_bits(pmu, st->target.pmds);
}

/* With a global control, that is what enables; else the selectors that are enabled themselves. */
static bool enables(const struct context *ctx, const struct step *st, unsigned p)
{
	return !ctx->pmu->global_ctrl &&
	       (st->target.sel[p] & st->target.mask[p] & ctx->pmu->pmcs[p].enable);
}

/* A selector that nobody has looked at lately is written only if it is still what we left. */
static void plan_next(
	const struct context *ctx, const struct step *st, unsigned p, struct plan *plan)
{
	if (st->unseen)
		plan_replace(plan, ctx->pmu->pmcs[p].addr, ctx->hold->hw.sel[p], st->target.sel[p],
			st->target.mask[p]);
	else
		plan_selector(ctx, st, p, plan);
}

static void plan_selectors(
	const struct context *ctx, const struct step *st, struct plan *plan, bool enabling)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (changes(ctx, st, p) && enables(ctx, st, p) == enabling)
			plan_next(ctx, st, p, plan);
}

void switch_set_up(struct context *ctx, struct step *st, struct plan *plan, uint32_t known,
	const uint64_t held[PMU_MAX_PMDS])
{
	const struct pmu *pmu = ctx->pmu;

	aim(ctx, st);
	do_without(ctx, st);
	plan_clear(plan);
	for (unsigned d = 0; d < pmu->npmds; d++) {
		struct pmd_state *s = &ctx->active->pmd[d];

		if (!(st->target.pmds & ROW(d)))
			continue;
		s->hw = s->n.value & pmu->pmds[d].wmask;
		if (!(known & ROW(d)) || held[d] != s->hw)
			plan_add(plan, REG_WRITE, pmu->pmds[d].addr, s->hw, ~0ULL);
	}
	plan_selectors(ctx, st, plan, false);
}

void switch_sets(struct context *ctx, struct evtset *to)
{
	evtset_leave(ctx->active);
	ctx->active = to;
	ctx->count.switches++;
	evtset_reset_pending(to, RESET_SHORT);
	evtset_activate(to);
}

static int set_up(struct context *ctx, struct step *st, struct plan *plan)
{
	struct evtset *from = ctx->active;
	uint64_t held[PMU_MAX_PMDS];
	uint32_t known = 0;

	for (unsigned d = 0; d < ctx->pmu->npmds; d++) {
		held[d] = from->pmd[d].hw;
		if ((ctx->hold->hw.pmds & ROW(d)) && !from->pmd[d].lost)
			known |= ROW(d);
	}
	switch_sets(ctx, st->to);
	switch_set_up(ctx, st, plan, known, held);
	st->phase = PHASE_SWITCH_SET;
	return CORE_RUN;
}

int switch_looked(struct context *ctx, struct step *st, struct plan *plan)
{
	stop_take(ctx, st, plan);
	if (plan_failed(plan)) {
		counters_fault(ctx, ctx->hold->hw.pmds, plan);
		if (plan_rest(plan))
			return CORE_RUN;
	}
	overflow_settle(ctx, plan);
	return CORE_DONE;
}

static int look(struct context *ctx, struct step *st, struct plan *plan)
{
	if (switch_looked(ctx, st, plan) == CORE_RUN)
		return CORE_RUN;
	if (!ctx->mask_due) {
		overflow_notify(ctx);
		return set_up(ctx, st, plan);
	}
	st->masking = true;
	return stop_rest(ctx, st, plan);
}

/* What was written, as far as it went, is what the registers hold; but for what was not ours. */
static void note_selectors(struct context *ctx, struct step *st, const struct plan *plan)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		const struct reg_op *op = plan_result(plan, ctx->pmu->pmcs[p].addr);
		uint64_t differ = op && op->verb == REG_REPLACE ? selector_differs(ctx, p, op) : 0;

		if (differ)
			selector_disown(ctx, p, differ);
		else if (op && op->verb != REG_READ)
			ctx->hold->hw.sel[p] = st->target.sel[p];
		st->target.mask[p] = ctx->hold->hw.mask[p];
	}
	do_without(ctx, st);
}

/* The old image is kept for what cannot be written. */
static void exchange(struct context *ctx, struct step *st)
{
	struct image old = ctx->hold->hw;

	ctx->hold->hw = st->target;
	st->target = old;
}

int switch_enable(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	uint64_t on;

	note_selectors(ctx, st, plan);
	on = st->target.global | st->give_back;
	ctx->hold->hw.pmds = st->target.pmds;
	ctx->hold->hw.global = 0;
	if (plan_failed(plan))
		return give_up(ctx, st, &plan->err, e);
	ctx->since = plan->at;
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		ctx->active->pmd[d].looked = plan->at;
	plan_clear(plan);
	plan_selectors(ctx, st, plan, true);
	if (on)
		plan_add(plan, REG_UPDATE, ctx->pmu->global_ctrl, ~0ULL, on);
	if (st->give_back)
		plan_add(plan, REG_FORGET, ctx->pmu->global_ctrl, 0, st->give_back);
	ctx->hold->claimed_global &= ~st->give_back;
	exchange(ctx, st);
	plan->last = plan->n;
	st->phase = PHASE_SWITCH_ENABLE;
	return plan->n ? CORE_RUN : CORE_DONE;
}

int switch_disabled(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	ctx->hold->hw.global = 0;
	for (unsigned i = plan->done; i < plan->n; i++)
		for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
			if (ctx->pmu->pmcs[p].addr == plan->op[i].addr)
				ctx->hold->hw.sel[p] = st->target.sel[p];
	return give_up(ctx, st, &plan->err, e);
}

int switch_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	switch (st->phase) {
	case PHASE_SWITCH_QUIET:
		return quiet(ctx, st, plan, e);
	case PHASE_SWITCH_LOOK:
		return look(ctx, st, plan);
	case PHASE_SWITCH_SET:
		return switch_enable(ctx, st, plan, e);
	default: /* PHASE_SWITCH_ENABLE: only if that has failed does anybody ask */
		return plan_failed(plan) ? switch_disabled(ctx, st, plan, e) : CORE_DONE;
	}
}
