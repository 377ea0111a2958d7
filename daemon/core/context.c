// SPDX-License-Identifier: MIT
#include "daemon/core/context.h"

#include <errno.h>
#include <stdlib.h>

int ctx_init(struct context *ctx, const struct pmu *pmu)
{
	*ctx = (struct context){.pmu = pmu, .state = CTX_UNLOADED, .nsets = 1, .room = 1};
	ctx->hold = &ctx->own;
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

void ctx_free(struct context *ctx)
{
	for (unsigned i = 0; i < ctx->nsets; i++)
		free(ctx->sets[i]);
	free(ctx->sets);
	messages_free(&ctx->messages);
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
