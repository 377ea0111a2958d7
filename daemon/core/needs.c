// SPDX-License-Identifier: MIT
/* Finds what a context needs from its owner: only counts, interrupts, or more. */
#include "daemon/core/core_i.h"

/* The kernel refuses longer periods. */
#define PERIOD_MAX (1ULL << 62)

/* The kernel is told at least this part of a random period, as it repeats what it was told until it
 * is told the next one. Where that takes time, a short rest would interrupt again and again, and
 * the kernel stops a counter that interrupts so often. */
enum { PERIOD_PART = 16 };

static uint64_t needs_rest(const struct pmd_state *s, uint64_t left)
{
	uint64_t least = -s->n.last_reset / PERIOD_PART;

	return left && left < least ? least : left;
}

/*
 * Events from the next overflow to the one after it. Without a format, a notified overflow masks,
 * and restart loads the long value. If that never overflows, any period will do, as the next
 * overflow is the only one.
 */
static uint64_t needs_period(const struct context *ctx, const struct pmd_state *s, uint64_t left)
{
	uint64_t after = -s->long_reset;

	if (s->flags & PMD_RANDOM)
		return needs_rest(s, left);
	if (ctx->smpl.fmt || !(s->flags & PMD_NOTIFY))
		return -s->short_reset;
	return after && after < PERIOD_MAX ? after : left;
}

bool ctx_period(const struct context *ctx, unsigned d, uint64_t *left, uint64_t *period)
{
	const struct pmd_state *s = &ctx->active->pmd[d];

	*left = -s->n.value;
	*period = needs_period(ctx, s, *left);
	return !s->lost && !(s->flags & PMD_NO64) && *left && *left < PERIOD_MAX && *period &&
	       *period < PERIOD_MAX;
}

/* True if the value at an overflow is known without reading anything. */
static bool needs_virtual_is_known(unsigned num)
{
	return num == PMU_CLOCK || num == PMU_PROCESS || num == PMU_THREAD || num == PMU_ELAPSED;
}

static bool needs_are_met(const struct context *ctx, unsigned d)
{
	const struct pmd_state *s = &ctx->active->pmd[d];

	if (ctx->pmu->pmds[d].width != 64)
		return false;
	for_each_row (i, s->virtuals)
		if (!needs_virtual_is_known(ctx->pmu->virtuals[i].num))
			return false;
	return true;
}

bool ctx_can_interrupt(const struct context *ctx)
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
		if (!needs_are_met(ctx, d))
			return false;
		any = true;
	}
	return any;
}

/* True if nothing needs to be done when its thread gives way to another. */
static bool needs_no_switch(const struct context *ctx)
{
	return !(ctx->flags & (CTX_NOTIFY_BLOCK | CTX_RAW));
}

/* True if any set has any of @flags. */
static bool needs_set_flags(const struct context *ctx, unsigned flags)
{
	for (unsigned i = 0; i < ctx->nsets; i++)
		if (ctx->sets[i]->flags & flags)
			return true;
	return false;
}

/* True if each set has a counter: the thread's time passes only while a counter counts. */
static bool needs_each_set_counts(const struct context *ctx)
{
	struct image im;

	for (unsigned i = 0; i < ctx->nsets; i++) {
		image_of(ctx->pmu, ctx->sets[i]->pmc, true, &im);
		if (!im.pmds)
			return false;
	}
	return true;
}

unsigned ctx_counters(const struct context *ctx)
{
	struct image im;

	image_of(ctx->pmu, ctx->active->pmc, true, &im);
	return (unsigned)__builtin_popcountll(im.pmds);
}

bool ctx_switches_by_time(const struct context *ctx)
{
	return needs_set_flags(ctx, SET_TIME_SWITCH);
}

bool ctx_only_counts(const struct context *ctx)
{
	return !ctx_attributes(ctx) && needs_no_switch(ctx) &&
	       !needs_set_flags(ctx, SET_OVFL_SWITCH) &&
	       (!ctx_switches_by_time(ctx) || needs_each_set_counts(ctx));
}

bool ctx_only_interrupts(const struct context *ctx)
{
	return ctx_can_interrupt(ctx) && needs_no_switch(ctx) &&
	       !needs_set_flags(ctx, SET_OVFL_SWITCH | SET_TIME_SWITCH);
}
