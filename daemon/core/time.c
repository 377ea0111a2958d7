// SPDX-License-Identifier: MIT
/* How long sets are active, and when a context next needs a command without a request. */
#include "daemon/core/core_i.h"

void time_account(struct context *ctx, uint64_t now)
{
	struct evtset *set = ctx->active;
	uint64_t ns = now - ctx->clock.since;

	set->active_ns += ns;
	set->remaining_ns -= ns < set->remaining_ns ? ns : set->remaining_ns;
	ctx->clock.since = now;
}

/* Time passes for the active set while it counts. */
uint64_t evtset_running_ns(const struct context *ctx, const struct evtset *set, uint64_t now)
{
	return set == ctx->active && ctx_time_passes(ctx) ? now - ctx->clock.since : 0;
}

bool time_is_over(const struct context *ctx, uint64_t now)
{
	const struct evtset *set = ctx->active;

	return (set->flags & SET_TIME_SWITCH) && now - ctx->clock.since >= set->remaining_ns;
}

/* A value of 2^64 - n overflows after n events, no sooner than at the highest rate. */
uint64_t soonest_overflow(const struct context *ctx, unsigned d)
{
	const struct pmd_state *s = &ctx->active->pmd[d];
	uint64_t ns = -s->n.value / (ctx->pmu->max_rate / SECOND_NS + 1);

	return ctx->pmu->pmds[d].buffer || !s->n.value || (s->flags & PMD_NO64) || ns > YEARS_NS
		       ? 0
		       : s->read_at + ns;
}

static uint64_t time_earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* @at, but at least a tick after the last reading. */
static uint64_t time_tick_after(const struct context *ctx, uint64_t read_at, uint64_t at)
{
	uint64_t last = ctx->status.clear_at > read_at ? ctx->status.clear_at : read_at;
	uint64_t tick = ctx->limits.tick_ns ? ctx->limits.tick_ns : 1;

	return at && at < last + tick ? last + tick : at;
}

static uint64_t time_next_read(const struct context *ctx)
{
	uint64_t poll = pmu_poll_ns(ctx->pmu), at = 0;

	for (unsigned d = 0; d < ctx->pmu->npmds; d++) {
		const struct pmd_state *s = &ctx->active->pmd[d];

		if (!(ctx->res->hw.pmds & ROW(d)) || s->lost)
			continue;
		at = time_earlier(at, time_tick_after(ctx, s->read_at, soonest_overflow(ctx, d)));
		at = time_earlier(at, poll ? s->read_at + poll : 0);
	}
	return at;
}

/* ctxsw threads read counters at switches only. */
uint64_t time_next_live(const struct context *ctx)
{
	if (!ctx->live.ticks || !ctx->active->live ||
		(ctx->target.tid && !ctx->target.always_active))
		return 0;
	return ctx->live.time + (ctx->limits.tick_ns ? ctx->limits.tick_ns : 1);
}

/* The next command for overflows and switches. */
static struct wake time_wake(const struct context *ctx)
{
	const struct evtset *set = ctx->active;
	uint64_t read, over;

	if ((ctx->ovfl.wrapped && !ctx->samples.interrupts) || ctx->ovfl.mask_due ||
		ctx->ovfl.notify || set->due)
		return (struct wake){.at = 1};
	read = ctx->samples.interrupts ? 0 : time_next_read(ctx);
	over = set->flags & SET_TIME_SWITCH ? ctx->clock.since + set->remaining_ns : 0;
	if (over && (!read || over <= read))
		return (struct wake){.at = over, .switches = true};
	return (struct wake){.at = read};
}

struct wake ctx_wake(const struct context *ctx)
{
	struct wake wake;

	if (!ctx_time_passes(ctx))
		return (struct wake){0};
	wake = time_wake(ctx);
	wake.live_at = time_next_live(ctx);
	return wake;
}
