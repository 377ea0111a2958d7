// SPDX-License-Identifier: MIT
/* How long sets are active, and when a context wants attention. */
#include "daemon/core/core_i.h"

bool ctx_counts(const struct context *ctx)
{
	return ctx_counts_now(ctx) && !ctx->hold->hw.halted;
}

void time_account(struct context *ctx, uint64_t now)
{
	struct evtset *set = ctx->active;
	uint64_t ns = now - ctx->since;

	set->active_ns += ns;
	set->remaining_ns -= ns < set->remaining_ns ? ns : set->remaining_ns;
	ctx->since = now;
}

bool time_is_over(const struct context *ctx, uint64_t now)
{
	const struct evtset *set = ctx->active;

	return (set->flags & SET_TIME_SWITCH) && now - ctx->since >= set->remaining_ns;
}

/* A value of 2^64 - n overflows after n events: not before the highest rate makes it. */
uint64_t soonest_overflow(const struct context *ctx, unsigned d)
{
	const struct pmd_state *s = &ctx->active->pmd[d];
	uint64_t ns = -s->n.value / (ctx->pmu->max_rate / SECOND_NS + 1);

	return !s->n.value || (s->flags & PMD_NO64) || ns > YEARS_NS ? 0 : s->looked + ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* No sooner after the last look than a tick. */
static uint64_t tick_after(const struct context *ctx, uint64_t looked, uint64_t at)
{
	uint64_t last = ctx->ticked > looked ? ctx->ticked : looked;
	uint64_t tick = ctx->limits.tick_ns ? ctx->limits.tick_ns : 1;

	return at && at < last + tick ? last + tick : at;
}

static uint64_t next_look(const struct context *ctx)
{
	uint64_t poll = pmu_poll_ns(ctx->pmu), at = 0;

	for (unsigned d = 0; d < ctx->pmu->npmds; d++) {
		const struct pmd_state *s = &ctx->active->pmd[d];

		if (!(ctx->hold->hw.pmds & ROW(d)) || s->lost)
			continue;
		at = earlier(at, tick_after(ctx, s->looked, soonest_overflow(ctx, d)));
		at = earlier(at, poll ? s->looked + poll : 0);
	}
	return at;
}

struct wake ctx_wake(const struct context *ctx)
{
	const struct evtset *set = ctx->active;
	uint64_t look, over;

	if (!ctx_counts(ctx))
		return (struct wake){0};
	if (ctx->wrapped || ctx->mask_due || ctx->tell || set->due)
		return (struct wake){.at = 1};
	look = next_look(ctx);
	over = set->flags & SET_TIME_SWITCH ? ctx->since + set->remaining_ns : 0;
	if (over && (!look || over <= look))
		return (struct wake){.at = over, .switches = true};
	return (struct wake){.at = look};
}
