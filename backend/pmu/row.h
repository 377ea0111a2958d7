/* SPDX-License-Identifier: MIT */
/* Adding registers to a description; shared by the builders of all vendors. */
#ifndef BACKEND_PMU_ROW_H
#define BACKEND_PMU_ROW_H

#include <stdint.h>
#include <stdio.h>

#include "perfmonfs/pmu.h"

static inline uint64_t pmu_low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (1ULL << n) - 1;
}

/* Adds the selector named @prefix@n, which is its own gate. */
static inline struct pmu_pmc *row_add_selector(struct pmu *pmu, const char *prefix, unsigned n)
{
	struct pmu_pmc *pmc = &pmu->pmcs[pmu->npmcs];

	snprintf(pmc->name, sizeof(pmc->name), "%s%u", prefix, n);
	pmc->num = (uint16_t)n;
	pmc->enable = EVTSEL_EN;
	pmc->kernel = EVTSEL_OS;
	pmc->user = EVTSEL_USR;
	pmc->gate = pmu->npmcs++;
	return pmc;
}

/* Adds a PMD named @prefix@n of @width bits, which RDPMC reads as @n. */
static inline struct pmu_pmd *row_add_pmd(
	struct pmu *pmu, const char *prefix, unsigned n, unsigned width)
{
	struct pmu_pmd *pmd = &pmu->pmds[pmu->npmds++];

	snprintf(pmd->name, sizeof(pmd->name), "%s%u", prefix, n);
	pmd->num = (uint16_t)n;
	pmd->field = UINT64_MAX;
	pmd->global = -1;
	pmd->rdpmc = n;
	pmd->width = (uint8_t)width;
	if (width < pmu->counter_width)
		pmu->counter_width = (uint8_t)width;
	return pmd;
}

#endif
