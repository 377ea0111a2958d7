// SPDX-License-Identifier: MIT
/*
 * AMD and Hygon (APM volume 2, chapter 13). The counters of all generations are alike, 48 bits
 * wide and written in full; what changed is where they are and what starts them.
 */
#include "backend/pmu/families.h"

#include "backend/pmu/regs.h"
#include "backend/pmu/row.h"

/* 35:32 are the event's upper bits, 40 and 41 select guest and host. */
static const uint64_t select_rsvd =
	~0ULL << 42 | 0xfULL << 36 | EVTSEL_INT | EVTSEL_PIN | EVTSEL_ANY;

enum { AMD_WIDTH = 48, AMD_LEGACY_COUNTERS = 4 };

static struct pmu_pmd *add_counter(struct pmu *pmu, unsigned n, uint32_t sel, uint32_t ctr)
{
	struct pmu_pmc *pmc = pmu_add_pmc(pmu, "PERFSEL", n);
	struct pmu_pmd *pmd = pmu_add_pmd(pmu, "PERFCTR", n, AMD_WIDTH);

	pmc->num = (uint16_t)n;
	pmc->addr = sel;
	pmc->rsvd = select_rsvd;
	pmc->enable = EVTSEL_EN;
	pmc->kernel = EVTSEL_OS;

	pmd->num = (uint16_t)n;
	pmd->pmc = pmc->gate;
	pmd->addr = ctr;
	pmd->waddr = ctr;
	pmd->wmask = pmu_low_bits(AMD_WIDTH);
	return pmd;
}

void amd64_build(struct pmu *pmu)
{
	pmu_start(pmu, "amd64", "AMD64");
	for (unsigned n = 0; n < AMD_LEGACY_COUNTERS; n++)
		add_counter(pmu, n, MSR_K7_EVTSEL0 + n, MSR_K7_PERFCTR0 + n);
}

void amd64_ext_build(struct pmu *pmu)
{
	pmu_start(pmu, "amd64_ext", "AMD64");
	for (unsigned n = 0; n < AMD_EXT_COUNTERS; n++)
		add_counter(pmu, n, MSR_F15_PERF_CTL0 + 2 * n, MSR_F15_PERF_CTR0 + 2 * n);
}

void amd64_v2_build(unsigned counters, struct pmu *pmu)
{
	pmu_start(pmu, "amd64_v2", "AMD64");
	pmu->global_ctrl = MSR_AMD_GLOBAL_CTRL;
	pmu->status = MSR_AMD_GLOBAL_STATUS;
	pmu->clear = MSR_AMD_GLOBAL_CLEAR;
	for (unsigned n = 0; n < counters && n < AMD_MAX_EXT; n++) {
		struct pmu_pmd *pmd =
			add_counter(pmu, n, MSR_F15_PERF_CTL0 + 2 * n, MSR_F15_PERF_CTR0 + 2 * n);

		pmd->global = (int8_t)n;
	}
}
