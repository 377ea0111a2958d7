// SPDX-License-Identifier: MIT
/*
 * Gaps: a thread ran uncounted, or others were counted for it, or a background context had yielded
 * its CPU, and the counts go on without what was counted in that time. So they are too low, by no
 * more than what the thread can have counted in the CPU time that it had in the gaps, or the CPU
 * in that time.
 */
#include "daemon/core/core_i.h"

/* One message a load: more would leave no room for others. */
static void gap_tell_first(struct context *ctx, pmu_rows rows)
{
	static const pfm_smpl_where_t nowhere;

	message_send(ctx, PFM_MSG_GAP, rows, &nowhere);
	ctx->count.notified++;
	ctx->count.changes++;
}

void gap_open(struct context *ctx, pmu_rows rows)
{
	if (ctx->gap.open)
		return;
	ctx->gap.open = true;
	for_each_row (d, rows)
		ctx->active->pmd[d].gaps.n++;
	ctx->source.gaps++;
	source_tell(ctx);
	if (!ctx->gap.count++)
		gap_tell_first(ctx, rows);
}

/* A PMD that was written since it opened, or whose set became the active one, is in it, too. */
void ctx_gap_add(struct context *ctx, uint64_t ns)
{
	struct image im;

	image_of(ctx->pmu, ctx->active->pmc, true, &im);
	for_each_row (d, im.pmds) {
		struct gaps *g = &ctx->active->pmd[d].gaps;

		g->n += !g->n;
		g->ns += ns;
	}
}

void gap_end_yield(struct context *ctx, uint64_t now)
{
	if (ctx->state == CTX_RUNNING)
		ctx_gap_add(ctx, now - ctx->since);
	ctx->since = now;
}
