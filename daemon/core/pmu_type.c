// SPDX-License-Identifier: MIT
/*
 * Where CPUs have different PMUs, an unloaded context has the registers of all types. Registers
 * that the CPUs of a load lack must be at their defaults.
 */
#include <inttypes.h>

#include "daemon/core/core_i.h"

static bool type_is_one(const struct pmu *pmu)
{
	return !(pmu->by_type.types & (pmu->by_type.types - 1));
}

static int type_refuse(const struct pmu *pmu, const char *what, struct err *e)
{
	if (type_is_one(pmu))
		return err_set(e, EINVAL,
			"CPUs of type %s have no %s: load on others, or leave it out: see pmu/%s "
			"and cpus",
			pmu->by_type.name, what, pmu->by_type.name);
	return err_set(e, EINVAL,
		"CPUs of types %s do not all have %s: load on CPUs of one type (cpus=), or leave "
		"it out: see cpus",
		pmu->by_type.name, what);
}

int type_check_pmc(
	const struct context *ctx, const struct pmu *pmu, unsigned p, uint64_t value, struct err *e)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[p];
	uint64_t bits = (value ^ pmc->def) & pmc->rsvd & ~ctx->all_pmu->pmcs[p].rsvd;
	struct err what;

	if (!bits)
		return 0;
	if (pmu->by_type.lacks_pmcs & ROW(p))
		err_set(&what, 0, "pmc%u", pmc->num);
	else
		err_set(&what, 0, "bits 0x%" PRIx64 " of pmc%u", bits, pmc->num);
	return type_refuse(pmu, what.text, e);
}

int type_check_pmd(const struct pmu *pmu, unsigned d, struct err *e)
{
	struct err what;

	if (!(pmu->by_type.lacks_pmds & ROW(d)))
		return 0;
	err_set(&what, 0, "pmd%u", pmu->pmds[d].num);
	return type_refuse(pmu, what.text, e);
}

static int type_check_set(
	const struct context *ctx, const struct pmu *pmu, const struct evtset *set, struct err *e)
{
	int rc = 0;

	for (unsigned p = 0; rc == 0 && p < pmu->npmcs; p++)
		rc = type_check_pmc(ctx, pmu, p, set->pmc[p], e);
	for (unsigned d = 0; rc == 0 && d < pmu->npmds; d++)
		if (image_counts(ctx->all_pmu, set->pmc, d))
			rc = type_check_pmd(pmu, d, e);
	return rc < 0 && ctx->nsets > 1 ? err_prefix(e, "set %u", set->id) : rc;
}

int type_check(const struct context *ctx, const struct pmu *pmu, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < ctx->nsets; i++)
		rc = type_check_set(ctx, pmu, ctx->sets[i], e);
	return rc;
}

void type_set(struct context *ctx, const struct pmu *pmu)
{
	if (ctx->pmu == pmu)
		return;
	ctx->pmu = pmu;
	ctx_needs_changed(ctx);
}

void type_reset(struct context *ctx)
{
	if (ctx->pmu == ctx->all_pmu)
		return;
	type_set(ctx, ctx->all_pmu);
	/* On other CPUs, a switch adds a different number to the counts. */
	for (unsigned i = 0; i < ctx->nsets; i++)
		ctx->sets[i]->calibrated = false;
}
