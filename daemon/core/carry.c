// SPDX-License-Identifier: MIT
/*
 * A thread's context comes to a CPU and leaves it (specification 3.1.7: the PMU state is saved and
 * restored on context switches). In between it is parked: what commands do to it is memory only.
 *
 *   in    the counters, and those selectors that differ, are written; last of all, what makes
 *         them count
 *   out   they are stopped, by the plan that is made in advance; read, and their selectors, to see
 *         that they were ours; what follows from that (overflow, another set) is done parked
 *
 * Nothing is claimed here: whoever gives it the CPU's hold has seen to that. Neither turns back:
 * what cannot be read or written costs its counts, and the context is parked all the same.
 */
#include "daemon/core/core_i.h"

/* Nothing in the CPU's registers counts any more; or, if that has @failed, some may. */
static void let_go(struct context *ctx, bool failed)
{
	struct image *hw = &ctx->hold->hw;

	hw->pmds = 0;
	hw->running = false;
	hw->halted = failed;
	if (!failed)
		hw->global = 0;
	ctx->hold = &ctx->own;
}

static int in_failed(struct context *ctx, const struct plan *plan)
{
	ctx_lose(ctx, plan->err.no == ENXIO ? LOST_OFFLINE : LOST_FAULT);
	let_go(ctx, true);
	return CORE_DONE;
}

static int set_up(struct context *ctx, struct step *st, struct plan *plan)
{
	st->to = ctx->active;
	st->moves = st->unseen = true;
	switch_set_up(ctx, st, plan, 0, NULL);
	st->phase = PHASE_IN_SET;
	return CORE_RUN;
}

int step_in(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	int rc;

	switch (st->phase) {
	case PHASE_IN_QUIET:
		stop_take(ctx, st, plan);
		if (plan_failed(plan))
			return in_failed(ctx, plan);
		ctx->hold->hw.global = 0;
		return set_up(ctx, st, plan);
	case PHASE_IN_SET:
		rc = switch_enable(ctx, st, plan, e);
		st->phase = PHASE_IN_ENABLE;
		return rc < 0 ? in_failed(ctx, plan) : rc;
	case PHASE_IN_ENABLE: /* only if that has failed does anybody ask */
		if (plan_failed(plan) && switch_disabled(ctx, st, plan, e) < 0)
			return in_failed(ctx, plan);
		return CORE_DONE;
	default:
		if (!ctx->hold->hw.halted)
			return set_up(ctx, st, plan);
		ctx_quiet_plan(ctx, plan); /* whoever was here before has failed to */
		st->phase = PHASE_IN_QUIET;
		return CORE_RUN;
	}
}

/* Its set's time has been accounted up to ctx->since, and stands still since. */
int parked_act(struct context *ctx)
{
	if (ctx->mask_due)
		ctx_set_state(ctx, CTX_MASKED);
	overflow_notify(ctx);
	if (ctx->state == CTX_RUNNING && (ctx->active->due || time_is_over(ctx, ctx->since)))
		switch_sets(ctx, ctx->active->next);
	return CORE_DONE;
}

static int parked(struct context *ctx, const struct step *st)
{
	let_go(ctx, st->err.no);
	return parked_act(ctx);
}

static int quiet(struct context *ctx, const struct command *cmd, struct step *st, struct plan *plan)
{
	uint64_t global = ctx->hold->hw.global;

	time_account(ctx, cmd->left_at ? cmd->left_at : plan->at);
	if (!global)
		stop_take(ctx, st, plan);
	if (plan_failed(plan)) {
		counters_fault(ctx, ctx->hold->hw.pmds, plan);
		st->err = plan->err; /* it may still count */
		if (global)
			return parked(ctx, st);
		if (plan_rest(plan))
			return CORE_RUN;
	}
	if (global)
		counters_paused(ctx, ctx->hold->hw.pmds, plan->op[0].value);
	st->to = ctx->active;
	switch_look(ctx, st, plan);
	st->phase = PHASE_OUT_LOOK;
	return CORE_RUN;
}

static int look(struct context *ctx, struct step *st, struct plan *plan)
{
	if (switch_looked(ctx, st, plan) == CORE_RUN)
		return CORE_RUN;
	plan_clear(plan);
	stop_give_back(ctx, st, plan);
	if (!plan->n)
		return parked(ctx, st);
	st->phase = PHASE_OUT_GIVE;
	return CORE_RUN;
}

int step_out(struct context *ctx, const struct command *cmd, struct step *st, struct plan *plan)
{
	if (!ctx_counts_now(ctx))
		return CORE_DONE;
	switch (st->phase) {
	case PHASE_OUT_LOOK:
		return look(ctx, st, plan);
	case PHASE_OUT_GIVE:
		return parked(ctx, st);
	default: /* the counters have been stopped before this began */
		return quiet(ctx, cmd, st, plan);
	}
}

bool ctx_holds(const struct context *ctx, const struct hold *hold)
{
	struct image im;

	for (unsigned i = 0; i < ctx->nsets; i++) {
		image_of(ctx->pmu, ctx->sets[i]->pmc, false, &im);
		/* P6's second selector may be held only lest it counts with the first. */
		if (im.pmds & ~hold->claimed_pmds)
			return false;
		for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
			if (im.mask[p] & ~hold->claimed_sel[p])
				return false;
	}
	return true;
}

uint32_t ctx_gaugeable(const struct context *ctx, const struct evtset *set)
{
	const struct pmu *pmu = ctx->pmu;
	uint32_t rows = 0;
	struct image im;

	image_of(pmu, set->pmc, false, &im);
	for (unsigned d = 0; d < pmu->npmds; d++)
		if ((im.pmds & ROW(d)) &&
			!(set->pmc[pmu->pmds[d].pmc] & pmu->pmcs[pmu->pmds[d].pmc].kernel &
				image_field(pmu, d)))
			rows |= ROW(d);
	return rows;
}

void ctx_lose(struct context *ctx, enum lost why)
{
	struct image im;

	image_of(ctx->pmu, ctx->active->pmc, true, &im);
	counters_lose(ctx, im.pmds, why);
}
