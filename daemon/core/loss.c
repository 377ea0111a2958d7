// SPDX-License-Identifier: MIT
/*
 * Lost counts: a client that waits for a notification is told at once, since a PMD whose count is
 * lost does not overflow any more.
 */
#include <assert.h>

#include "daemon/core/core_i.h"

static_assert((int)PFM_MSG_BV == (int)PFM_FMT_BV, "the PMDs of a message are those of a format");

static void loss_add(struct context *ctx, unsigned n)
{
	ctx->count.changes += n && !ctx->nlost;
	ctx->nlost += n;
}

static void loss_remove(struct context *ctx, unsigned n)
{
	ctx->nlost -= n;
	ctx->count.changes += n && !ctx->nlost;
}

void loss_report(struct context *ctx, pmu_rows rows)
{
	const pfm_buffer_fmt_t *fmt = ctx->smpl.fmt;
	static const pfm_smpl_where_t nowhere;
	uint64_t pmds[PFM_FMT_BV] = {0};

	loss_add(ctx, (unsigned)__builtin_popcountll(rows));
	if (fmt && fmt->fmt_lost) {
		message_pmds(ctx->pmu, rows, pmds);
		fmt->fmt_lost(ctx->smpl.buf, ctx->active->id, pmds);
	}
	message_send(ctx, PFM_MSG_COUNT_LOST, rows, &nowhere);
	ctx->count.notified++;
}

void loss_end(struct context *ctx, struct pmd_state *s)
{
	s->dropped = false;
	if (!s->lost)
		return;
	s->lost = LOST_NOT;
	loss_remove(ctx, 1);
}

void loss_end_set(struct context *ctx, struct evtset *set)
{
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		loss_end(ctx, &set->pmd[d]);
}
