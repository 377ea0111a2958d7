// SPDX-License-Identifier: MIT
/*
 * Polling by one register access: where the PMU tells which counters have wrapped, counters that
 * wrap exactly when their 64-bit values do need not be read before that. The kernel's perf clears
 * that register at each of its interrupts, bits of other users included. So it is believed for a
 * few ticks only; then the counters are read, which finds what was missed.
 */
#include "daemon/core/core_i.h"

enum { TICKS_BELIEVED = 16 };

/* True if counter @d has a bit in the status, and is as far from its end as the 64-bit value is
 * from its own. */
static bool status_wraps_together(const struct context *ctx, unsigned d)
{
	const struct pmd_state *s = &ctx->active->pmd[d];
	uint64_t width = pmd_width_mask(&ctx->pmu->pmds[d]);

	return ctx->pmu->pmds[d].global >= 0 && (s->n.value | width) == ~0ULL &&
	       !((s->n.value ^ s->hw) & width);
}

static bool status_is_due(const struct context *ctx, unsigned d, uint64_t now)
{
	uint64_t at = soonest_overflow(ctx, d);

	return at && at <= now;
}

bool status_suffices(const struct context *ctx, uint64_t now)
{
	uint64_t believed = TICKS_BELIEVED * ctx->limits.tick_ns;
	uint64_t poll = pmu_poll_ns(ctx->pmu);
	pmu_rows live = counters_live(ctx, ~(pmu_rows)0);
	bool due = false;

	if (!ctx->pmu->status || ctx->status.unreadable)
		return false;
	for_each_row (d, live) {
		uint64_t ago = now - ctx->active->pmd[d].read_at;

		if (ago >= believed || (poll && ago >= poll))
			return false;
		if (!status_is_due(ctx, d, now))
			continue;
		if (!status_wraps_together(ctx, d))
			return false;
		due = true;
	}
	return due;
}

bool status_clear(struct core_run *run)
{
	struct context *ctx = run->ctx;
	struct plan *plan = &run->plan;
	uint64_t bits;

	plan_clear(plan);
	plan_read(plan, ctx->pmu->status);
	if (plan_run(run, plan)) {
		bits = plan->op[0].value & image_global_bits(ctx->pmu, ctx->res->hw.pmds);
		if (!bits) {
			ctx->status.clear_at = run->now;
			return true;
		}
		/* Cleared before the counters are read: a counter that wraps in between sets its
		 * bit again. */
		plan_clear(plan);
		plan_add(plan, REG_WRITE, ctx->pmu->clear, bits, ~0ULL);
		plan_run(run, plan);
		ctx->status.set = 0;
	}
	if (plan_failed(plan))
		ctx->status.unreadable = true;
	return false;
}
