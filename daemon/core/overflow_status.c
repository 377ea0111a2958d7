// SPDX-License-Identifier: MIT
/*
 * A look that costs one register access: where the PMU tells which counters have wrapped, those
 * that wrap just when their 64-bit values do need not be read before it says so. The kernel's
 * perf clears that register whenever it gets an interrupt, ours included: so it is believed for
 * a few looks only. What it has swallowed is found by the next full one.
 */
#include "daemon/core/core_i.h"

enum { TICKS_BELIEVED = 16 };

/* The actual counter is as far from its end as the 64-bit value from its own. */
static bool wraps_together(const struct context *ctx, unsigned d)
{
	const struct pmd_state *s = &ctx->active->pmd[d];
	uint64_t width = pmd_width_mask(&ctx->pmu->pmds[d]);

	return (s->n.value | width) == ~0ULL && !((s->n.value ^ s->hw) & width);
}

static bool is_due(const struct context *ctx, unsigned d, uint64_t now)
{
	uint64_t at = soonest_overflow(ctx, d);

	return at && at <= now;
}

bool status_suffices(const struct context *ctx, uint64_t now)
{
	uint64_t believed = TICKS_BELIEVED * ctx->limits.tick_ns;
	uint64_t poll = pmu_poll_ns(ctx->pmu);
	uint32_t live = live_rows(ctx, ~0U);
	bool due = false;

	if (!ctx->pmu->status || ctx->statusless)
		return false;
	for (unsigned d = 0; d < ctx->pmu->npmds; d++) {
		uint64_t ago = now - ctx->active->pmd[d].looked;

		if (!(live & ROW(d)))
			continue;
		if (ago >= believed || (poll && ago >= poll))
			return false;
		if (!is_due(ctx, d, now))
			continue;
		if (!wraps_together(ctx, d))
			return false;
		due = true;
	}
	return due;
}

int status_begin(struct context *ctx, struct step *st, struct plan *plan)
{
	plan_clear(plan);
	plan_add(plan, REG_READ, ctx->pmu->status, 0, 0);
	st->phase = PHASE_STATUS;
	return CORE_RUN;
}

bool status_active(const struct step *st)
{
	return st->phase == PHASE_STATUS || st->phase == PHASE_CLEARED;
}

int status_step(struct context *ctx, struct step *st, struct plan *plan)
{
	uint64_t bits;

	if (st->phase == PHASE_STATUS && !plan_failed(plan)) {
		bits = plan->op[0].value & image_global_bits(ctx->pmu, ctx->hold->hw.pmds);
		if (!bits) {
			ctx->ticked = plan->at;
			return CORE_DONE;
		}
		/* Before the counters are read: what wraps in between is told again. */
		plan_clear(plan);
		plan_add(plan, REG_WRITE, ctx->pmu->clear, bits, ~0ULL);
		st->phase = PHASE_CLEARED;
		return CORE_RUN;
	}
	if (plan_failed(plan))
		ctx->statusless = true;
	st->phase = PHASE_START;
	return CORE_DONE;
}
