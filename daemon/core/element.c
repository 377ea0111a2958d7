// SPDX-License-Identifier: MIT
/* Elements of the vectors that read and write registers. */
#include "daemon/core/core_i.h"

int element_find(const struct context *ctx, const struct cmd_reg *r, struct evtset **set,
	unsigned *row, struct err *e)
{
	int found = r->pmd ? pmu_find_pmd(ctx->pmu, r->num) : pmu_find_pmc(ctx->pmu, r->num);

	*set = ctx_set(ctx, r->set);
	if (!*set)
		return err_set(e, ENOENT, "no event set %u: make it first", r->set);
	if (found < 0)
		return err_set(e, ENOENT, "this PMU has no %s%u: see pmu/%ss",
			r->pmd ? "pmd" : "pmc", r->num, r->pmd ? "pmd" : "pmc");
	*row = (unsigned)found;
	return 0;
}

int element_virtual(const struct context *ctx, const struct cmd_reg *r)
{
	return r->pmd && ctx_set(ctx, r->set) ? pmu_find_virtual(ctx->pmu, r->num) : -1;
}

enum cmd_fault element_fault(const struct context *ctx, const struct cmd_reg *r)
{
	const struct pmu *pmu = ctx->pmu;

	if (!ctx_set(ctx, r->set))
		return FAULT_NOSET;
	if (r->pmd ? pmu_find_pmd(pmu, r->num) < 0 && pmu_find_virtual(pmu, r->num) < 0
		   : pmu_find_pmc(pmu, r->num) < 0)
		return FAULT_NOTAVAIL;
	return FAULT_REFUSED;
}
