// SPDX-License-Identifier: MIT
/*
 * Overflows that the counters' own interrupts report. Each is a reading of the counters at the
 * moment of the overflow, which may be older than the last reading: then counts go back to it, and
 * the next reading takes them forward again.
 */
#include "daemon/core/core_i.h"

static pmu_rows interrupt_row(const struct pmu *pmu, uint32_t addr)
{
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmu->pmds[d].addr == addr)
			return ROW(d);
	return 0;
}

/* Takes in the value @hw of counter @d, unless it would take the count back across an overflow that
 * no reading has found: the PMD was written after that. */
static void interrupt_fold(struct core_run *run, unsigned d, uint64_t hw)
{
	struct context *ctx = run->ctx;
	struct pmd_state *s = &ctx->active->pmd[d];
	uint64_t now = s->n.value + (hw - s->hw);
	bool back = (int64_t)(hw - s->hw) < 0, crosses = back ? now > s->n.value : now < s->n.value;

	if (!back)
		counter_check_leap(run, d, hw - s->hw);
	if (s->lost || (crosses && back && !(ctx->ovfl.wrapped & ROW(d))))
		return;
	if (crosses)
		ctx->ovfl.wrapped ^= ROW(d);
	s->n.value = now;
	s->hw = hw;
	s->read_at = run->now;
}

/* The context is masked from the overflow on: events that the counters of @in count until they are
 * stopped are left out. */
static void interrupt_mask(struct context *ctx, const struct interrupt *in)
{
	for (unsigned i = 0; i < in->n; i++) {
		pmu_rows rows = interrupt_row(ctx->pmu, in->counter[i].addr) & ctx->res->hw.pmds;

		for_each_row (d, rows)
			if (ctx->active->pmd[d].hw == in->counter[i].value)
				ctx->ovfl.masked |= ROW(d);
	}
}

static void interrupt_overflow(struct core_run *run, const struct interrupt *in, pmu_rows row)
{
	run->where = in->where;
	run->virt.asked = run->virt.valid = 0;
	run->virt.want = virtuals_sampled(run->ctx);
	if (run->virt.want)
		run->io->fetch(run);
	for (unsigned i = 0; i < in->n; i++) {
		pmu_rows rows =
			interrupt_row(run->ctx->pmu, in->counter[i].addr) & run->ctx->res->hw.pmds;

		for_each_row (d, rows)
			interrupt_fold(run, d, in->counter[i].value);
	}
	run->interrupted = row;
	account_overflows(run);
	run->interrupted = 0;
	if (run->ctx->ovfl.mask_due)
		interrupt_mask(run->ctx, in);
}

/* True if counter @d counts only by its interrupts: a clock at user level. */
static bool interrupt_is_all(const struct context *ctx, unsigned d)
{
	unsigned row = ctx->pmu->pmds[d].pmc;
	const struct pmu_pmc *pmc = &ctx->pmu->pmcs[row];
	uint64_t value = ctx->active->pmc[row];
	const struct pmu_event *ev = pmu_event_of(ctx->pmu, row, value);

	return ev && ev->user_samples && (value & (pmc->user | pmc->kernel)) == pmc->user;
}

/* Their number reaches the tool with the next overflow that was recorded. */
static void interrupt_dropped(struct context *ctx, uint64_t n)
{
	static const pfm_smpl_where_t nowhere;

	for_each_row (d, ctx->res->hw.pmds)
		if (interrupt_is_all(ctx, d))
			ctx->active->pmd[d].dropped = true;
	/* One message: more would leave no room for others. */
	if (!ctx->samples.source.dropped) {
		message_send(ctx, PFM_MSG_SMPL_DROPPED, 0, &nowhere);
		ctx->count.notified++;
	}
	ctx->samples.source.dropped += n;
	source_tell(ctx);
}

static void interrupt_lose(struct context *ctx, const struct interrupt *in, enum lost why)
{
	for (unsigned i = 0; i < in->n; i++)
		counters_lose(
			ctx, interrupt_row(ctx->pmu, in->counter[i].addr) & ctx->res->hw.pmds, why);
}

void core_interrupt(struct core_run *run, struct context *ctx, const struct interrupt *in)
{
	pmu_rows row = interrupt_row(ctx->pmu, in->addr);

	if (in->kind == INTERRUPT_EVENT) {
		if (ctx->state == CTX_RUNNING)
			ctx_event(ctx, &in->event);
		return;
	}
	if (!ctx_counts_now(ctx) || ctx->ovfl.mask_due || ctx->active->due)
		return;
	if (!ctx->samples.interrupts && in->kind != INTERRUPT_DROPPED)
		return;
	run->ctx = ctx;
	run->now = in->now;
	run->clock = in->time;
	live_begin(ctx);
	switch (in->kind) {
	case INTERRUPT_OVERFLOW:
		interrupt_overflow(run, in, row);
		break;
	case INTERRUPT_DROPPED:
		interrupt_dropped(ctx, in->dropped);
		break;
	case INTERRUPT_THROTTLED:
		ctx->samples.source.throttled++;
		source_tell(ctx);
		interrupt_lose(ctx, in, LOST_THROTTLED);
		break;
	case INTERRUPT_EVICTED:
		interrupt_lose(ctx, in, LOST_EVICTED);
		break;
	case INTERRUPT_EVENT:
		break; /* above */
	}
	live_end(ctx, ctx->active);
}

void ctx_lose_unsampled(struct context *ctx, bool interrupts)
{
	uint64_t left, period;
	pmu_rows rows = 0;

	for_each_row (d, ctx->res->hw.pmds)
		if (interrupt_is_all(ctx, d) && !(interrupts && ctx_period(ctx, d, &left, &period)))
			rows |= ROW(d);
	if (!rows)
		return;
	live_begin(ctx);
	counters_lose(ctx, rows, LOST_UNSAMPLED);
	live_end(ctx, ctx->active);
}
