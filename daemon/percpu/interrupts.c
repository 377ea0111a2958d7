// SPDX-License-Identifier: MIT
#include "daemon/percpu/interrupts.h"

#include <errno.h>

#include "base/nsec.h"
#include "daemon/percpu/where.h"

enum {
	/* Interrupts between two wake-ups of the worker. Those after the one that fills a buffer
	 * are lost, so a small buffer has smaller batches: up to BATCH_SMALL of them, an interrupt
	 * for so many bytes of the buffer. */
	BATCH_MIN = 16,
	BATCH_SMALL = 64,
	BATCH_SMALL_BYTES = 512,
	BATCH_MAX = 256,
	BATCH_BYTES = 4096,
	/* Interrupts that record the user's stack: a quarter of what the kernel's ring holds, and
	 * of what the buffer holds, with so many bytes of a sample besides the stack. What comes
	 * after the sample that fills the buffer is lost. */
	BATCH_USER_STACK = 8,
	BATCH_USER_SAMPLE = 2048,
	/* Interrupts handled for one command at most: more than a ring buffer holds. */
	INTERRUPTS_MAX = 4096,
	/* How long interrupts wait for a batch to be complete: the longer there were none, the
	 * longer. */
	DELAY_MIN_NS = 20000000,
	DELAY_MAX_NS = 1000000000,
};

/* True if each interrupt wakes the worker: a notification masks at once, and a period that differs
 * each time, or the first time, is told to the kernel after each interrupt. */
static bool interrupts_each(const struct context *ctx)
{
	uint64_t left, period;

	if (!ctx->smpl.fmt)
		return true;
	for_each_row (d, ctx->res->hw.pmds)
		if (ctx_period(ctx, d, &left, &period) &&
			(left != period || (ctx->active->pmd[d].flags & PMD_RANDOM)))
			return true;
	return false;
}

static unsigned interrupts_batch(const struct context *ctx)
{
	size_t n = ctx->smpl.size / BATCH_SMALL_BYTES;

	if (interrupts_each(ctx))
		return 1;
	if (ctx->smpl.user_stack) {
		n = ctx->smpl.size / (4 * ((size_t)ctx->smpl.user_stack + BATCH_USER_SAMPLE));
		return n < 1 ? 1 : n < BATCH_USER_STACK ? (unsigned)n : BATCH_USER_STACK;
	}
	if (n < BATCH_MIN)
		return BATCH_MIN;
	if (n < BATCH_SMALL)
		return (unsigned)n;
	n = ctx->smpl.size / BATCH_BYTES;
	return n < BATCH_SMALL ? BATCH_SMALL : n < BATCH_MAX ? (unsigned)n : BATCH_MAX;
}

static int interrupts_set(struct executor *x, const struct context *ctx, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;

	for_each_row (d, ctx->res->hw.pmds) {
		uint64_t sel = ctx->active->pmc[pmu->pmds[d].pmc], left, period;

		if (!ctx_period(ctx, d, &left, &period))
			left = period = 0;
		if (x->be->ops->interrupt_after(x->cpu, pmu->pmds[d].addr, sel, left, period, e) <
			0)
			return -e->no;
	}
	return 0;
}

static void interrupts_clear(struct executor *x, const struct context *ctx)
{
	struct err ignored;

	for_each_row (d, ctx->res->hw.pmds)
		x->be->ops->interrupt_after(x->cpu, ctx->pmu->pmds[d].addr, 0, 0, 0, &ignored);
}

/* True if a thread's events come with its interrupts. On a CPU, the sampler records events. */
static bool interrupts_have_events(const struct executor *x, const struct context *ctx)
{
	return x->thread && ctx->smpl.fmt && ctx->smpl.fmt->fmt_event;
}

static int interrupts_call_open(struct executor *x, const struct context *ctx, struct err *e)
{
	struct interrupt_conf conf = {
		.buffer = ctx->smpl.size,
		.batch = interrupts_batch(ctx),
		.stacks = ctx_wants_stacks(ctx),
		.user_stack = ctx->smpl.user_stack,
		.events = interrupts_have_events(x, ctx),
		.waits = ctx->smpl.waits,
	};

	return x->be->ops->interrupts_open(x->cpu, &conf, e);
}

int interrupts_prepare(struct executor *x, const struct context *ctx, struct err *e)
{
	int fd;

	if (!x->cpu || !(interrupts_have_events(x, ctx) || ctx->smpl.user_stack))
		return 0;
	fd = interrupts_call_open(x, ctx, e);
	return fd < 0 ? fd : 0;
}

static int interrupts_open(struct executor *x, const struct context *ctx, struct err *e)
{
	x->interrupts_fd = interrupts_call_open(x, ctx, e);
	if (x->interrupts_fd < 0)
		return x->interrupts_fd;
	if (interrupts_set(x, ctx, e) == 0)
		return 0;
	interrupts_clear(x, ctx);
	return -e->no;
}

/* True if interrupts can be opened. A context that ctxsw threads restore has no registers of its
 * own. */
static bool interrupts_may_open(const struct executor *x, const struct context *ctx)
{
	return x->be->interrupts && x->cpu && (!ctx->target.tid || ctx->target.always_active) &&
	       ctx_can_interrupt(ctx);
}

/* The time from an overflow to the tick that finds it: see sample_tick.c. */
static uint32_t interrupts_poll_skew(const struct context *ctx)
{
	uint64_t ns = ctx->limits.tick_ns + ctx->limits.tick_ns / 16;

	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

int interrupts_check_start(struct executor *x, const struct context *ctx, struct err *e)
{
	if (!ctx->smpl.user_stack)
		return 0;
	if (!interrupts_may_open(x, ctx))
		return err_set(e, EOPNOTSUPP,
			"user_stack needs a counter that interrupts: write a PMC and the period of "
			"its PMD (-PERIOD short=-PERIOD), and no virtual PMDs");
	return interrupts_open(x, ctx, e) < 0 ? err_prefix(e, "user_stack") : 0;
}

/* Without a format, each interrupt wakes. */
uint64_t interrupts_delay(const struct executor *x, const struct context *ctx)
{
	uint64_t none = nsec_now(CLOCK_MONOTONIC) - x->interrupts_taken;

	if (!ctx->smpl.fmt || none > DELAY_MAX_NS)
		return DELAY_MAX_NS;
	return none > DELAY_MIN_NS ? none : DELAY_MIN_NS;
}

void interrupts_arm(struct executor *x, struct context *ctx)
{
	struct err ignored;
	bool interrupts;

	if (ctx->state != CTX_RUNNING)
		return;
	interrupts = interrupts_may_open(x, ctx) && interrupts_open(x, ctx, &ignored) == 0;
	ctx_lose_unsampled(ctx, interrupts);
	if (!ctx_attributes(ctx))
		return;
	x->interrupts_taken = nsec_now(CLOCK_MONOTONIC);
	if (!interrupts && ctx->samples.interrupts && x->cpu)
		interrupts_clear(x, ctx);
	ctx_set_source(ctx, interrupts, interrupts ? 0 : interrupts_poll_skew(ctx));
}

/* Tells the kernel the next periods, which may have changed. */
static void interrupts_next_periods(struct executor *x, const struct context *ctx)
{
	uint64_t left, period;
	struct err ignored;

	for_each_row (d, ctx->res->hw.pmds)
		if (ctx_period(ctx, d, &left, &period))
			x->be->ops->interrupt_after(x->cpu, ctx->pmu->pmds[d].addr,
				ctx->active->pmc[ctx->pmu->pmds[d].pmc], 0, period, &ignored);
}

/* True for an overflow that has waited while the context was masked: it was not counted, as the
 * counters were still to be stopped. */
static bool interrupts_is_old(const struct executor *x, const struct interrupt *in)
{
	return in->kind != INTERRUPT_EVENT && in->kind != INTERRUPT_DROPPED &&
	       in->time < x->resumed;
}

static void interrupts_handle(struct executor *x, struct context *ctx, struct interrupt *in)
{
	if (interrupts_is_old(x, in))
		return;
	if (!ctx->samples.kernel_ip)
		where_hide_kernel(&in->where);
	x->moment = in->time;
	core_interrupt(&x->run, ctx, in);
}

void interrupts_take(struct executor *x, struct context *ctx)
{
	bool events = interrupts_have_events(x, ctx);
	struct interrupt in;
	unsigned n = 0;

	if (!x->cpu || ctx->state == CTX_UNLOADED || !(ctx->samples.interrupts || events) ||
		(events && ctx->state == CTX_MASKED))
		return;
	/* The CPU is offline. A thread that has ended may still have some. */
	if (ctx->samples.interrupts && x->interrupts_fd < 0 && !x->thread) {
		ctx_set_source(ctx, false, interrupts_poll_skew(ctx));
		return;
	}
	while (n < INTERRUPTS_MAX && !(events && ctx->ovfl.mask_due) &&
		x->be->ops->interrupt_next(x->cpu, &in)) {
		interrupts_handle(x, ctx, &in);
		n++;
	}
	x->moment = 0;
	if (n)
		x->interrupts_taken = nsec_now(CLOCK_MONOTONIC);
	if (n && ctx_counts_now(ctx))
		interrupts_next_periods(x, ctx);
}
