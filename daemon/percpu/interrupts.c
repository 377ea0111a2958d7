// SPDX-License-Identifier: MIT
#include "daemon/percpu/interrupts.h"

#include "base/nsec.h"
#include "daemon/percpu/where.h"

enum {
	/* Interrupts between two wake-ups of the worker. */
	INTERRUPTS_BATCH = 16,
	/* At most this many are handled for one command: more than a ring buffer holds. */
	INTERRUPTS_MAX = 4096,
	DELAY_NS = 20000000,
};

/* A notification is to mask at once, and a period that is another one each time, or the first time,
 * is told to the kernel after each interrupt. */
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

uint64_t interrupts_delay(const struct context *ctx)
{
	return interrupts_each(ctx) ? NSEC_PER_SEC : DELAY_NS;
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

static bool interrupts_open(struct executor *x, const struct context *ctx)
{
	struct interrupt_conf conf = {
		.batch = interrupts_each(ctx) ? 1 : INTERRUPTS_BATCH,
		.stacks = ctx_wants_stacks(ctx),
	};
	struct err ignored;

	x->interrupts_fd = x->be->ops->interrupts_open(x->cpu, &conf, &ignored);
	if (x->interrupts_fd < 0)
		return false;
	if (interrupts_set(x, ctx, &ignored) == 0)
		return true;
	interrupts_clear(x, ctx);
	return false;
}

/* A context that ctxsw threads restore has not its own registers. */
static bool interrupts_may_open(const struct executor *x, const struct context *ctx)
{
	return x->be->interrupts && x->cpu && (!ctx->target.tid || ctx->target.always_active) &&
	       ctx_can_interrupt(ctx, ctx->target.tid);
}

/* The time from an overflow to the tick that finds it: see sample_tick.c. */
static uint32_t interrupts_poll_skew(const struct context *ctx)
{
	uint64_t ns = ctx->limits.tick_ns + ctx->limits.tick_ns / 16;

	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

void interrupts_arm(struct executor *x, struct context *ctx)
{
	bool interrupts;

	if (!ctx_attributes(ctx) || ctx->state != CTX_RUNNING)
		return;
	interrupts = interrupts_may_open(x, ctx) && interrupts_open(x, ctx);
	if (!interrupts && ctx->interrupts && x->cpu)
		interrupts_clear(x, ctx);
	ctx_set_source(ctx, interrupts, interrupts ? 0 : interrupts_poll_skew(ctx));
}

/* Periods that are not the kernel's any more. */
static void interrupts_next_periods(struct executor *x, const struct context *ctx)
{
	uint64_t left, period;
	struct err ignored;

	for_each_row (d, ctx->res->hw.pmds)
		if (ctx_period(ctx, d, &left, &period))
			x->be->ops->interrupt_after(x->cpu, ctx->pmu->pmds[d].addr,
				ctx->active->pmc[ctx->pmu->pmds[d].pmc], 0, period, &ignored);
}

void interrupts_take(struct executor *x, struct context *ctx)
{
	struct interrupt in;
	unsigned n = 0;

	if (!ctx->interrupts || !x->cpu || ctx->state == CTX_UNLOADED)
		return;
	if (x->interrupts_fd < 0) {
		ctx_set_source(ctx, false, interrupts_poll_skew(ctx));
		return;
	}
	while (n < INTERRUPTS_MAX && x->be->ops->interrupt_next(x->cpu, &in)) {
		if (!ctx->kernel_ip)
			where_hide_kernel(&in.where);
		x->moment = in.time;
		core_interrupt(&x->run, ctx, &in);
		n++;
	}
	x->moment = 0;
	if (n && ctx_counts_now(ctx))
		interrupts_next_periods(x, ctx);
}
