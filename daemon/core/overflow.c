// SPDX-License-Identifier: MIT
/*
 * Counter overflow (specification 3.4): what is done about 64-bit values that looks at the
 * counters have found to have wrapped. Resetting needs no register access, as only the difference
 * to what an actual counter held at the last look matters. Masking and switching do: they are
 * only noted here, to be carried out by whoever may touch the registers.
 */
#include "daemon/core/core_i.h"

static void throttle(struct context *ctx, uint64_t now)
{
	if (!ctx->rate_so_far || now - ctx->rate_since >= SECOND_NS) {
		ctx->rate_since = now;
		ctx->rate_so_far = 0;
	}
	if (++ctx->rate_so_far <= ctx->limits.overflow_rate_max)
		return;
	ctx->mask_due |= MASK_THROTTLE;
	ctx->tell = true;
}

bool overflow_count(struct context *ctx, struct pmd_state *s, uint64_t now)
{
	s->overflows++;
	ctx->count.overflows++;
	throttle(ctx, now);
	if (s->n.thresh_left)
		s->n.thresh_left--;
	return s->thresh && !s->n.thresh_left && (ctx->active->flags & SET_OVFL_SWITCH);
}

/*
 * PMD row @d has wrapped: once, and again for each period that is contained in what it has
 * counted since. True if it was reset. If the last one is not to be answered by that, it waits as
 * it is: for restart, or for its set to become active again.
 */
static bool settle_one(struct context *ctx, unsigned d, uint32_t *triggers, uint64_t now)
{
	struct pmd_state *s = &ctx->active->pmd[d];
	bool reset = false;
	uint64_t past;

	do {
		if (overflow_count(ctx, s, now))
			*triggers |= ROW(d);
		if (ctx->mask_due || (*triggers & ROW(d))) {
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

static bool notifies(const struct context *ctx, uint32_t rows)
{
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if ((rows & ROW(d)) && (ctx->active->pmd[d].flags & PMD_NOTIFY))
			return true;
	return false;
}

/* Without a sampling format. Returns the PMDs that are to be reset with those that were. */
static uint32_t plain_settle(
	struct context *ctx, uint32_t rows, uint32_t *triggers, const struct plan *plan)
{
	uint32_t others = 0;

	if (notifies(ctx, rows)) {
		ctx->mask_due |= MASK_NOTIFY;
		ctx->tell = true;
		ctx->block = ctx->flags & CTX_NOTIFY_BLOCK;
	}
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if ((rows & ROW(d)) && settle_one(ctx, d, triggers, plan->at))
			others |= ctx->active->pmd[d].reset;
	return others;
}

void overflow_settle(struct context *ctx, const struct plan *plan)
{
	struct evtset *set = ctx->active;
	uint32_t rows = ctx->wrapped, triggers = 0, others;

	ctx->wrapped = 0;
	if (!rows)
		return;
	others = ctx->smpl.fmt ? sample_settle(ctx, rows, &triggers, plan)
			       : plain_settle(ctx, rows, &triggers, plan);
	others &= ~rows;
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		if (others & ROW(d))
			pmd_reset(&set->pmd[d], RESET_SHORT);
	set->due |= triggers;
	ctx->report = ctx->mask_due || ctx->tell ? ctx->report | rows : 0;
}

static void put(struct context *ctx, uint32_t type)
{
	struct pfm_msg m = {
		.type = type,
		.set = ctx->active->id,
		.cpu = (uint16_t)ctx->cpu,
		.pid = (uint32_t)ctx->pid,
		.tid = (uint32_t)ctx->tid,
	};
	const struct pmu *pmu = ctx->pmu;

	for (unsigned d = 0; d < pmu->npmds; d++)
		if (ctx->report & ROW(d))
			m.pmds[pmu->pmds[d].num / 64] |= 1ULL << pmu->pmds[d].num % 64;
	if (!messages_put(&ctx->messages, &m))
		ctx->count.messages_lost++;
}

void overflow_notify(struct context *ctx)
{
	bool throttled = ctx->mask_due & MASK_THROTTLE;
	bool says = ctx->tell && !(ctx->flags & CTX_OVFL_NO_MSG);

	if (says && (!throttled || (ctx->mask_due & ~MASK_THROTTLE)))
		put(ctx, PFM_MSG_OVFL);
	if (says && throttled)
		put(ctx, PFM_MSG_THROTTLE);
	ctx->count.notified += ctx->tell;
	ctx->mask_due = 0;
	ctx->tell = false;
	ctx->report = 0;
}
