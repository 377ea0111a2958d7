// SPDX-License-Identifier: MIT
/* Polling a running context: reads its counters, and masks, notifies and switches accordingly. */
#include "daemon/core/core_i.h"

static bool poll_is_for_page(const struct core_run *run)
{
	uint64_t at = time_next_live(run->ctx);

	return at && run->clock >= at;
}

/* After this long without an interrupt, the counters may not have been counting. */
#define SILENCE_NS 100000000ULL

static bool poll_is_overdue(const struct core_run *run)
{
	const struct context *ctx = run->ctx;

	for_each_row (d, ctx->res->hw.pmds)
		if (!ctx->active->pmd[d].lost &&
			run->now - ctx->active->pmd[d].read_at > SILENCE_NS)
			return true;
	return false;
}

/* False if the overflow status register, which may be cleared here, shows that there are none. */
static bool poll_may_find_overflows(struct core_run *run)
{
	const struct context *ctx = run->ctx;

	if (ctx->samples.interrupts)
		return poll_is_overdue(run);
	return ctx->ovfl.wrapped || !status_suffices(ctx, run->now) || !status_clear(run);
}

int cmd_poll(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;

	if (!ctx_time_passes(ctx))
		return 0;
	/* A command that reads counters may have left something to be done. */
	if (ctx->ovfl.mask_due || ctx->ovfl.notify || ctx->active->due)
		return overflow_act(run, e);
	if (time_is_over(ctx, run->now))
		return switch_sets(run, ctx->active->next, e);
	if (!poll_is_for_page(run) && !poll_may_find_overflows(run))
		return 0;
	read_counters(run, PMU_ALL_ROWS);
	account_overflows(run);
	return overflow_act(run, e);
}
