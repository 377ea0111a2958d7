// SPDX-License-Identifier: MIT
/*
 * Stopping (specification 3.1.6): the counters are frozen and read, and their selectors disabled.
 * Unlike a start, a stop is never undone. If a register cannot be stopped, or the CPU went offline,
 * the context stays running, half-way, until it is stopped again or unloaded.
 */
#include "daemon/core/core_i.h"

static bool stop_any_enabled(const struct context *ctx)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (selector_enabled(ctx, p))
			return true;
	return false;
}

static int stop_end(struct context *ctx, const struct err *failed, struct err *e)
{
	struct image *hw = &ctx->res->hw;

	if (failed->no) {
		counters_lose(ctx, hw->pmds, LOST_FAULT);
		hw->halted = true;
		return err_copy(e, failed);
	}
	hw->running = false;
	hw->global = 0;
	hw->halted = false;
	return 0;
}

int stop_selectors(struct core_run *run, struct err *failed, struct err *e)
{
	struct plan *plan = &run->plan;

	do {
		plan_run(run, plan);
		freeze_take_all(run, plan, failed);
		plan_clear(plan);
		if (failed->no == ENXIO)
			break;
		/* Stop the rest of a shared selector, part of which was taken over. */
		if (!failed->no && stop_any_enabled(run->ctx))
			freeze_plan_selectors(run->ctx, plan);
		freeze_restore_foreign(run);
	} while (plan->n);
	return stop_end(run->ctx, failed, e);
}

int stop_counters(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;
	struct err failed;

	freeze_counters(run, 0, &failed);
	if (failed.no == ENXIO)
		return stop_end(ctx, &failed, e);
	if (ctx->res->hw.global)
		failed.no = 0; /* disabling the selectors stops the counters, too */
	plan_clear(&run->plan);
	freeze_plan_counters(ctx, &run->plan);
	/* Selectors come after the counters, as at every reading, so that one taken over in between
	 * is noticed. */
	if (ctx->res->hw.global)
		freeze_plan_selectors(ctx, &run->plan);
	return stop_selectors(run, &failed, e);
}

int cmd_stop(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;
	int rc;

	ctx->ovfl.block = false;
	if (ctx->state == CTX_UNLOADED)
		return ctx_not_loaded(ctx, "stop", e);
	if (ctx->yielded)
		gap_end_yield(ctx, run->now);
	if (!ctx_counts_now(ctx)) {
		ctx_stopped(ctx, CTX_LOADED, run->clock);
		return 0;
	}
	rc = stop_counters(run, e);
	if (rc < 0)
		return rc;
	ctx_stopped(ctx, CTX_LOADED, run->clock);
	account_overflows(run);
	notify_pending(ctx);
	return 0;
}
