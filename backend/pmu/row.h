/* SPDX-License-Identifier: MIT */
/* Steps that the builders of all families share. */
#ifndef BACKEND_PMU_ROW_H
#define BACKEND_PMU_ROW_H

#include <stdint.h>
#include <stdio.h>

#include "perfmonfs/pmu.h"

static inline uint64_t pmu_low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (1ULL << n) - 1;
}

static inline void pmu_start(struct pmu *pmu, const char *name, const char *model)
{
	*pmu = (struct pmu){.space = PMU_SPACE_MSR, .max_rate = 1ULL << 36, .counter_width = 64};
	snprintf(pmu->name, sizeof(pmu->name), "%s", name);
	snprintf(pmu->model, sizeof(pmu->model), "%s", model);
	pmu_add_virtuals(pmu);
}

/* A row named @prefix@n; it gates itself. */
static inline struct pmu_pmc *pmu_add_pmc(struct pmu *pmu, const char *prefix, unsigned n)
{
	struct pmu_pmc *pmc = &pmu->pmcs[pmu->npmcs];

	snprintf(pmc->name, sizeof(pmc->name), "%s%u", prefix, n);
	pmc->gate = pmu->npmcs++;
	return pmc;
}

static inline struct pmu_pmd *pmu_add_pmd(
	struct pmu *pmu, const char *prefix, unsigned n, unsigned width)
{
	struct pmu_pmd *pmd = &pmu->pmds[pmu->npmds++];

	snprintf(pmd->name, sizeof(pmd->name), "%s%u", prefix, n);
	pmd->field = UINT64_MAX;
	pmd->global = -1;
	pmd->rdpmc = n;
	pmd->width = (uint8_t)width;
	if (width < pmu->counter_width)
		pmu->counter_width = (uint8_t)width;
	return pmd;
}

#endif
