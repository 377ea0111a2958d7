// SPDX-License-Identifier: MIT
/*
 * Counter overflow (specification 3.4): accounts 64-bit values that have wrapped, as reading the
 * counters has found. Resetting them accesses no register, because only the difference to the last
 * reading matters. Masking and switching do access registers: they are only noted here.
 */
#include "daemon/core/core_i.h"

/*
 * Accounts the overflows of PMD row @d: the one found, and one for each further period in what it
 * has counted since. True if it was reset. If the last overflow masks the context, the PMD stays as
 * it is until restart. If it switches the set, the PMD is reset: what was counted past the overflow
 * belongs to the next period.
 */
static bool overflow_account_pmd(struct context *ctx, unsigned d, pmu_rows *triggers, uint64_t now)
{
	struct pmd_state *s = &ctx->active->pmd[d];
	bool reset = false;
	uint64_t past;

	do {
		if (overflow_count(ctx, s, now))
			*triggers |= ROW(d);
		if (ctx->ovfl.mask_due) {
			ctx->active->pending |= ROW(d);
			return reset;
		}
		past = s->n.value;
		pmd_reset(s, RESET_SHORT);
		s->n.value += past;
		reset = true;
	} while (s->n.value < past);
	return true;
}

static bool overflow_notifies(const struct context *ctx, pmu_rows rows)
{
	for_each_row (d, rows)
		if (ctx->active->pmd[d].flags & PMD_NOTIFY)
			return true;
	return false;
}

/* Accounts overflows without a sampling format. Returns the PMDs to be reset together with those
 * that were reset. */
static pmu_rows overflow_without_format(struct core_run *run, pmu_rows rows, pmu_rows *triggers)
{
	struct context *ctx = run->ctx;
	pmu_rows others = 0;

	if (overflow_notifies(ctx, rows)) {
		ctx->ovfl.mask_due |= MASK_NOTIFY;
		ctx->ovfl.notify = true;
		ctx->ovfl.block = ctx->flags & CTX_NOTIFY_BLOCK;
	}
	for_each_row (d, rows)
		if (overflow_account_pmd(ctx, d, triggers, run->now))
			others |= ctx->active->pmd[d].reset;
	return others;
}

/* The PMDs whose overflows are accounted now: the others wait for their interrupts, which tell more
 * than a reading. */
static pmu_rows overflow_rows(const struct core_run *run)
{
	const struct context *ctx = run->ctx;

	return ctx->samples.interrupts && ctx->res->hw.running ? run->interrupted : PMU_ALL_ROWS;
}

void account_overflows(struct core_run *run)
{
	struct context *ctx = run->ctx;
	struct evtset *set = ctx->active;
	pmu_rows rows = ctx->ovfl.wrapped & overflow_rows(run), triggers = 0, others;

	ctx->ovfl.wrapped &= ~rows;
	if (!rows)
		return;
	if (!ctx->ovfl.notify) {
		ctx->ovfl.where = core_where(run);
		ctx->ovfl.where.nframes = 0;
		ctx->ovfl.where.frames = NULL;
		ctx->ovfl.where.user = (pfm_smpl_user_t){0};
	}
	others = ctx->smpl.fmt ? sample_overflows(run, rows, &triggers)
			       : overflow_without_format(run, rows, &triggers);
	others &= ~rows;
	for_each_row (d, others)
		pmd_reset(&set->pmd[d], RESET_SHORT);
	set->due |= triggers;
	ctx->ovfl.notify_pmds =
		ctx->ovfl.mask_due || ctx->ovfl.notify ? ctx->ovfl.notify_pmds | rows : 0;
}

void notify_pending(struct context *ctx)
{
	bool throttled = ctx->ovfl.mask_due & MASK_THROTTLE;
	bool sends = ctx->ovfl.notify && !(ctx->flags & CTX_OVFL_NO_MSG);

	if (sends && (!throttled || (ctx->ovfl.mask_due & ~MASK_THROTTLE)))
		message_send(ctx, PFM_MSG_OVFL, ctx->ovfl.notify_pmds, &ctx->ovfl.where);
	if (sends && throttled)
		message_send(ctx, PFM_MSG_THROTTLE, ctx->ovfl.notify_pmds, &ctx->ovfl.where);
	ctx->count.notified += ctx->ovfl.notify;
	ctx->ovfl.mask_due = 0;
	ctx->ovfl.masked = 0;
	ctx->ovfl.notify = false;
	ctx->ovfl.notify_pmds = 0;
	ctx->ovfl.where = (pfm_smpl_where_t){0};
}
