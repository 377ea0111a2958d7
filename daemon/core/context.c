// SPDX-License-Identifier: MIT
#include "daemon/core/context.h"

#include <stddef.h>

static void set_init(struct evtset *set, uint16_t id, const struct pmu *pmu)
{
	*set = (struct evtset){.id = id};
	for (unsigned p = 0; p < pmu->npmcs; p++)
		set->pmc[p] = pmu->pmcs[p].def;
}

void ctx_init(struct context *ctx, const struct pmu *pmu)
{
	*ctx = (struct context){.pmu = pmu, .state = CTX_UNLOADED};
	set_init(&ctx->set0, 0, pmu);
	ctx->active = &ctx->set0;
}

struct evtset *ctx_set(struct context *ctx, unsigned id)
{
	return id == ctx->set0.id ? &ctx->set0 : NULL;
}

uint64_t pmu_wrap_ns(const struct pmu *pmu, uint32_t pmds)
{
	unsigned width = 64;

	for (unsigned d = 0; d < pmu->npmds; d++)
		if ((pmds & ROW(d)) && pmu->pmds[d].width < width)
			width = pmu->pmds[d].width;
	/* At 64 bits and more than one event a nanosecond, it still takes most of a century. */
	return width == 64 ? 0 : (1ULL << width) / (pmu->max_rate / 1000000000 + 1);
}

uint64_t pmu_poll_ns(const struct pmu *pmu)
{
	/* Four looks in the shortest possible wrap: three of them may come late. */
	return pmu_wrap_ns(pmu, ~0U) / 4;
}
