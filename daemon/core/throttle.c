// SPDX-License-Identifier: MIT
/* Counting overflows. A context with too many per second must be masked. */
#include "daemon/core/core_i.h"

static void throttle_count(struct context *ctx, uint64_t now)
{
	struct ctx_overflow *ovfl = &ctx->ovfl;

	if (!ovfl->rate_count || now - ovfl->rate_since >= SECOND_NS) {
		ovfl->rate_since = now;
		ovfl->rate_count = 0;
	}
	if (++ovfl->rate_count <= ctx->limits.overflow_rate_max)
		return;
	ovfl->mask_due |= MASK_THROTTLE;
	ovfl->notify = true;
}

bool overflow_count(struct context *ctx, struct pmd_state *s, uint64_t now)
{
	s->overflows++;
	ctx->count.overflows++;
	throttle_count(ctx, now);
	if (s->n.thresh_left)
		s->n.thresh_left--;
	return s->thresh && !s->n.thresh_left && (ctx->active->flags & SET_OVFL_SWITCH);
}
