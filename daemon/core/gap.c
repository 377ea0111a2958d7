// SPDX-License-Identifier: MIT
/*
 * Gaps: times in which a thread ran uncounted, others were counted for it, or a background context
 * had yielded its CPU. The counts go on without the events of those times. They are too low by no
 * more than the thread can have counted in the CPU time that it had in the gaps, or the CPU in
 * those times.
 */
#include "daemon/core/core_i.h"

/* One message per load: more would leave no room for others. */
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
	ctx->samples.source.gaps++;
	source_tell(ctx);
	if (!ctx->gap.count++)
		gap_tell_first(ctx, rows);
}

/* A gap includes PMDs that were written, or whose set became the active one, after it opened. */
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
		ctx_gap_add(ctx, now - ctx->clock.since);
	ctx->clock.since = now;
}
