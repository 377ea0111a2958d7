// SPDX-License-Identifier: MIT
/* Masking: monitoring stops until restart. */
#include "daemon/core/core_i.h"

/* Overflows that the last reading has found are notified with the rest. */
static int mask_stopped(struct core_run *run)
{
	account_overflows(run);
	ctx_set_state(run->ctx, CTX_MASKED);
	notify_pending(run->ctx);
	return 0;
}

int mask_counters(struct core_run *run, struct err *e)
{
	int rc = stop_counters(run, e);

	return rc < 0 ? rc : mask_stopped(run);
}

int mask_frozen(struct core_run *run, struct err *e)
{
	struct err failed = {0};
	int rc;

	plan_clear(&run->plan);
	if (run->ctx->res->hw.global)
		freeze_plan_selectors(run->ctx, &run->plan);
	rc = stop_selectors(run, &failed, e);
	return rc < 0 ? rc : mask_stopped(run);
}
