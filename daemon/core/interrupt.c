// SPDX-License-Identifier: MIT
/*
 * Overflows that the counters' own interrupts report. Each is a reading of the counters at the
 * moment of the overflow, which may be older than the last reading: then counts go back to it, and
 * the next reading takes them forward again.
 */
#include "daemon/core/core_i.h"

/* Longer periods are refused by the kernel. */
#define PERIOD_MAX (1ULL << 62)

bool ctx_period(const struct context *ctx, unsigned d, uint64_t *left, uint64_t *period)
{
	const struct pmd_state *s = &ctx->active->pmd[d];

	*left = -s->n.value;
	*period = s->flags & PMD_RANDOM ? *left : -s->short_reset;
	return !s->lost && !(s->flags & PMD_NO64) && *left && *left < PERIOD_MAX && *period &&
	       *period < PERIOD_MAX;
}

/* Their values at an overflow are known without reading anything. */
static bool interrupt_knows_virtual(unsigned num)
{
	return num == PMU_CLOCK || num == PMU_PROCESS || num == PMU_THREAD || num == PMU_ELAPSED;
}

static bool interrupt_suffices(const struct context *ctx, unsigned d, bool group)
{
	const struct pmd_state *s = &ctx->active->pmd[d];

	if (ctx->pmu->pmds[d].width != 64 || (!group && ((s->smpl | s->reset) & ~ROW(d))))
		return false;
	for_each_row (i, s->virtuals)
		if (!interrupt_knows_virtual(ctx->pmu->virtuals[i].num))
			return false;
	return true;
}

bool ctx_can_interrupt(const struct context *ctx, bool group)
{
	uint64_t left, period;
	struct image im;
	bool any = false;

	if (ctx->nsets > 1 || !ctx_attributes(ctx))
		return false;
	image_of(ctx->pmu, ctx->active->pmc, true, &im);
	for_each_row (d, im.pmds) {
		if (!ctx_period(ctx, d, &left, &period))
			continue;
		if (!interrupt_suffices(ctx, d, group))
			return false;
		any = true;
	}
	return any;
}

static void interrupt_tell_source(struct context *ctx)
{
	if (ctx->smpl.fmt && ctx->smpl.fmt->fmt_source)
		ctx->smpl.fmt->fmt_source(ctx->smpl.buf, &ctx->source);
}

void ctx_set_source(struct context *ctx, bool interrupts, uint32_t skew_ns)
{
	ctx->interrupts = interrupts;
	ctx->source.precise = interrupts ? PFM_SMPL_INTERRUPT : PFM_SMPL_POLL;
	ctx->source.skew_ns = skew_ns;
	interrupt_tell_source(ctx);
}

static uint32_t interrupt_row(const struct pmu *pmu, uint32_t addr)
{
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmu->pmds[d].addr == addr)
			return ROW(d);
	return 0;
}

/* A value of counter @d that would take its count back across an overflow which no reading has
 * found: the PMD was written after that. */
static void interrupt_fold(struct core_run *run, unsigned d, uint64_t hw)
{
	struct context *ctx = run->ctx;
	struct pmd_state *s = &ctx->active->pmd[d];
	uint64_t now = s->n.value + (hw - s->hw);
	bool back = (int64_t)(hw - s->hw) < 0, crosses = back ? now > s->n.value : now < s->n.value;

	if (s->lost || (crosses && back && !(ctx->ovfl.wrapped & ROW(d))))
		return;
	if (crosses)
		ctx->ovfl.wrapped ^= ROW(d);
	s->n.value = now;
	s->hw = hw;
	s->read_at = run->now;
}

static void interrupt_overflow(struct core_run *run, const struct interrupt *in, uint32_t row)
{
	run->where = in->where;
	run->virt.asked = run->virt.valid = 0;
	run->virt.want = virtuals_sampled(run->ctx);
	if (run->virt.want)
		run->io->fetch(run);
	for (unsigned i = 0; i < in->n; i++) {
		uint32_t rows =
			interrupt_row(run->ctx->pmu, in->counter[i].addr) & run->ctx->res->hw.pmds;

		for_each_row (d, rows)
			interrupt_fold(run, d, in->counter[i].value);
	}
	run->interrupted = row;
	account_overflows(run);
	run->interrupted = 0;
}

/* Their numbers reach the tool with the next overflow that was recorded. */
static void interrupt_dropped(struct context *ctx, uint64_t n)
{
	static const pfm_smpl_where_t nowhere;

	/* One message: more would leave no room for others. */
	if (!ctx->source.dropped) {
		message_send(ctx, PFM_MSG_SMPL_DROPPED, 0, &nowhere);
		ctx->count.notified++;
	}
	ctx->source.dropped += n;
	interrupt_tell_source(ctx);
}

void core_interrupt(struct core_run *run, struct context *ctx, const struct interrupt *in)
{
	uint32_t row = interrupt_row(ctx->pmu, in->addr);

	if (!ctx_counts_now(ctx) || !ctx->interrupts || ctx->ovfl.mask_due || ctx->active->due)
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
		ctx->source.throttled++;
		interrupt_tell_source(ctx);
		counters_lose(ctx, row, LOST_THROTTLED);
		break;
	}
	live_end(ctx, ctx->active);
}
