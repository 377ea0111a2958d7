// SPDX-License-Identifier: MIT
/*
 * Saves a thread's context when the thread leaves its CPU (specification 3.1.7): its counters are
 * frozen and read, and so are their selectors, to verify that they were reserved. The consequences
 * (overflow, another set) need no register. This is never undone: the context is saved even if
 * registers fail.
 */
#include "daemon/core/core_i.h"

int cmd_sched_out(struct core_run *run, const struct command *cmd)
{
	struct context *ctx = run->ctx;
	struct program same = {0};
	bool global = ctx->res->hw.global;
	struct err failed;

	if (!ctx_counts_now(ctx))
		return 0;
	freeze_counters(run, cmd->left_at, &failed);
	if (!failed.no || !global) {
		switchover_aim(ctx, ctx->active, &same);
		freeze_read(run, &same);
		account_overflows(run);
		if (run->foreign_global) {
			plan_clear(&run->plan);
			freeze_restore_foreign(run);
			plan_run(run, &run->plan);
		}
	}
	ctx_leave_registers(ctx, failed.no);
	overflow_act_saved(ctx);
	return 0;
}
