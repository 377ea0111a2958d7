// SPDX-License-Identifier: MIT
/* A context's life, its sets and state, and checks that several commands share. */
#include "daemon/core/context.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/core/core_i.h"

int ctx_init(struct context *ctx, const struct pmu *pmu)
{
	*ctx = (struct context){
		.pmu = pmu, .all_pmu = pmu, .state = CTX_UNLOADED, .nsets = 1, .room = 1};
	ctx->res = &ctx->own;
	ctx->active = evtset_new(0, pmu);
	ctx->sets = malloc(sizeof(*ctx->sets));
	if (!ctx->active || !ctx->sets) {
		free(ctx->active);
		free(ctx->sets);
		return -ENOMEM;
	}
	ctx->sets[0] = ctx->active;
	return 0;
}

void ctx_free_sets(struct context *ctx, unsigned n)
{
	ctx->active = ctx->sets[0];
	for (; n && ctx->nsets > 1; n--)
		free(ctx->sets[--ctx->nsets]);
}

void ctx_free(struct context *ctx)
{
	for (unsigned i = 0; i < ctx->nsets; i++)
		free(ctx->sets[i]);
	free(ctx->sets);
	messages_free(&ctx->messages);
	thread_table_free(&ctx->threads);
}

unsigned ctx_set_position(const struct context *ctx, unsigned id)
{
	unsigned lo = 0, hi = ctx->nsets;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (ctx->sets[mid]->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct evtset *ctx_set(const struct context *ctx, unsigned id)
{
	unsigned i = ctx_set_position(ctx, id);

	return i < ctx->nsets && ctx->sets[i]->id == id ? ctx->sets[i] : NULL;
}

void ctx_set_state(struct context *ctx, enum ctx_state state)
{
	bool throttled = state == CTX_MASKED && (ctx->ovfl.mask_due & MASK_THROTTLE);

	if (ctx->state != state || ctx->ovfl.throttled != throttled)
		ctx->count.changes++;
	ctx->state = state;
	ctx->ovfl.throttled = throttled;
}

static bool context_is_started(const struct context *ctx)
{
	return ctx->state == CTX_RUNNING || ctx->state == CTX_MASKED;
}

uint64_t ctx_until(const struct context *ctx, uint64_t now)
{
	return context_is_started(ctx) ? now : ctx->clock.ended;
}

uint64_t ctx_elapsed(const struct context *ctx, uint64_t now)
{
	return ctx_until(ctx, now) - ctx->clock.began;
}

void ctx_stopped(struct context *ctx, enum ctx_state state, uint64_t now)
{
	if (context_is_started(ctx))
		ctx->clock.ended = now;
	ctx_set_state(ctx, state);
}

bool ctx_time_passes(const struct context *ctx)
{
	return ctx_counts_now(ctx) && !ctx->res->hw.halted;
}

void ctx_leave_registers(struct context *ctx, bool failed)
{
	struct image *hw = &ctx->res->hw;

	hw->pmds = 0;
	hw->running = false;
	hw->halted = failed;
	if (!failed)
		hw->global = 0;
	ctx->res = &ctx->own;
}

int rights_check(const struct rights *r, bool system_wide, struct err *e)
{
	if (system_wide ? r->system : r->thread)
		return 0;
	return err_set(e, EPERM, "monitoring a %s needs root or membership of the group in %s",
		system_wide ? "CPU" : "thread",
		system_wide ? "config/sys_group, or a grant (config/grants)"
			    : "config/thread_group");
}

static int context_check_set(const struct pmu *pmu, const struct evtset *set, struct err *e)
{
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		uint64_t bits = set->pmc[p] & pmu->pmcs[p].kernel;

		if (bits)
			return err_set(e, EACCES,
				"set %u: pmc%u counts at kernel level, which config/allow_kernel "
				"does not grant you: clear its bits 0x%" PRIx64,
				set->id, pmu->pmcs[p].num, bits);
	}
	return 0;
}

int rights_check_kernel(const struct context *ctx, const struct rights *r, struct err *e)
{
	int rc = 0;

	if (r->kernel || !ctx->past.kernel_pmcs)
		return 0;
	for (unsigned i = 0; rc == 0 && i < ctx->nsets; i++)
		rc = context_check_set(ctx->pmu, ctx->sets[i], e);
	return rc;
}

int ctx_not_loaded(const struct context *ctx, const char *verb, struct err *e)
{
	if (ctx->target.ended)
		return err_set(e, EINVAL,
			"thread %d has ended: there is nothing to %s, but its counts can be read; "
			"load another",
			ctx->target.tid, verb);
	return err_set(e, EINVAL,
		"not loaded: there is nothing to %s: write 'load cpu=N' or 'load tid=N' to ctl "
		"first",
		verb);
}

uint64_t pmu_wrap_ns(const struct pmu *pmu, pmu_rows pmds)
{
	unsigned width = 64;

	for (unsigned d = 0; d < pmu->npmds; d++)
		if ((pmds & ROW(d)) && pmu->pmds[d].width < width)
			width = pmu->pmds[d].width;
	/* At 64 bits, even several events a nanosecond take most of a century. */
	return width == 64 ? 0 : (1ULL << width) / (pmu->max_rate / 1000000000 + 1);
}

uint64_t pmu_poll_ns(const struct pmu *pmu)
{
	/* Four times in the shortest possible wrap: three of them may be late. */
	return pmu_wrap_ns(pmu, ~(pmu_rows)0) / 4;
}
