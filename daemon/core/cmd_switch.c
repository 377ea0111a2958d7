// SPDX-License-Identifier: MIT
/* Switching from the active set to another while monitoring (specification 3.7.6). */
#include "daemon/core/core_i.h"

void switch_activate(struct context *ctx, struct evtset *to)
{
	evtset_leave(ctx->active);
	ctx->active = to;
	ctx->count.switches++;
	evtset_reset_pending(to, RESET_SHORT);
	evtset_activate(to);
}

int switch_sets(struct core_run *run, struct evtset *to, struct err *e)
{
	struct context *ctx = run->ctx;
	struct evtset *from = ctx->active;
	uint64_t current[PMU_MAX_PMDS];
	struct program pg = {0};
	pmu_rows known = 0;
	struct err failed;
	int rc;

	freeze_counters(run, 0, &failed);
	if (failed.no)
		return switchover_give_up(ctx, &failed, e);
	switchover_aim(ctx, to, &pg);
	freeze_read(run, &pg);
	account_overflows(run);
	if (ctx->ovfl.mask_due)
		return mask_frozen(run, e);
	notify_pending(ctx);
	for (unsigned d = 0; d < ctx->pmu->npmds; d++) {
		current[d] = from->pmd[d].hw;
		if ((ctx->res->hw.pmds & ROW(d)) && !from->pmd[d].lost)
			known |= ROW(d);
	}
	switch_activate(ctx, to);
	rc = switchover(run, &pg, known, current, e);
	/* Sets that take turns have no interrupts. */
	if (ctx->nsets > 1)
		ctx_lose_unsampled(ctx, false);
	return rc;
}

int cmd_switch(struct core_run *run, struct err *e)
{
	return ctx_counts_now(run->ctx) ? switch_sets(run, run->ctx->active->next, e) : 0;
}
