// SPDX-License-Identifier: MIT
/*
 * AMD and Hygon (APM volume 2, chapter 13; CPUID leaves: volume 3, appendix E). The counters of all
 * generations have 48 bits and can be written completely. The generations differ in the registers'
 * addresses and in the global control.
 */
#include "backend/pmu/model.h"

#include <errno.h>

#include "backend/pmu/regs.h"
#include "backend/pmu/row.h"

enum {
	AMD_WIDTH = 48,
	AMD_LEGACY_COUNTERS = 4,
	AMD_EXT_COUNTERS = 6,
	AMD_MAX_COUNTERS = 8, /* Number of counters with an address in regs.h. */

	ECX80000001_PERFCTR = 1u << 23, /* PerfCtrExtCore */
	EAX80000022_V2 = 1u << 0,
};

/* Simulated selectors: 35:32 extend the event, 41:40 select guest and host. */
#define AMD_SELECTOR_10H (0x30fffffffffULL & ~EVTSEL_ANY)
#define AMD_SELECTOR_17H (AMD_SELECTOR_10H & ~EVTSEL_PIN)

#define AMD_FEATURES(v, counters)                                                                  \
	{                                                                                          \
		.version = (v), .gp = (counters), .gp_width = AMD_WIDTH                            \
	}

const struct pmu_model pmu_amd_models[] = {
	/* Simulated: Family 10h (Barcelona). */
	{"amd64", "AMD64", PMU_AMD, AMD_FEATURES(0, AMD_LEGACY_COUNTERS),
		{"amd_legacy", "4 of 48 bits at 0xC0010000", 0x100f23, 5, 0x8000001a,
			AMD_SELECTOR_10H}},
	/* Simulated: Zen 2 (Rome). */
	{"amd64_ext", "AMD64", PMU_AMD, AMD_FEATURES(1, AMD_EXT_COUNTERS),
		{"amd_ext", "6 of 48 bits at 0xC0010200", 0x830f10, 0x10, 0x80000020,
			AMD_SELECTOR_17H}},
	/* Simulated: Zen 4 (Genoa). */
	{"amd64_v2", "AMD64", PMU_AMD, AMD_FEATURES(2, AMD_EXT_COUNTERS),
		{"amd_v2", "6 of 48 bits at 0xC0010200, global registers", 0xa10f11, 0x10,
			0x80000028, AMD_SELECTOR_17H}},
	{0},
};

int amd_features(const struct pmu_cpu *cpu, const struct pmu_identity *id, struct pmu_features *out,
	struct err *e)
{
	uint32_t max[4], v2[4] = {0}, ext[4] = {0};
	int rc;

	if (id->family < 6)
		return err_set(e, ENODEV, "%s family %u has no PMU: use --backend=perf", id->vendor,
			id->family);
	rc = cpu->cpuid(cpu->arg, 0x80000000, 0, max, e);
	if (rc == 0 && max[EAX] >= 0x80000001)
		rc = cpu->cpuid(cpu->arg, 0x80000001, 0, ext, e);
	if (rc == 0 && max[EAX] >= 0x80000022)
		rc = cpu->cpuid(cpu->arg, 0x80000022, 0, v2, e);
	if (rc < 0)
		return rc;
	if (v2[EAX] & EAX80000022_V2)
		*out = (struct pmu_features)AMD_FEATURES(2, v2[EBX] & 0xf);
	else if (ext[ECX] & ECX80000001_PERFCTR)
		*out = (struct pmu_features)AMD_FEATURES(1, AMD_EXT_COUNTERS);
	else
		*out = (struct pmu_features)AMD_FEATURES(0, AMD_LEGACY_COUNTERS);
	return 0;
}

/* Reserved bits of selectors: all but the event and its control, guest and host. */
static const uint64_t amd_rsvd = ~0ULL << 42 | 0xfULL << 36 | EVTSEL_INT | EVTSEL_PIN | EVTSEL_ANY;

/* Events 0xe0 to 0xff are those of the north bridge, which all cores share: Linux's
 * amd_is_nb_event(). Where they have counters of their own, these codes count nothing here. */
static const uint64_t amd_north_bridge = 0xe0;

static struct pmu_pmd *amd_add_counter(struct pmu *pmu, unsigned n, uint32_t sel, uint32_t ctr)
{
	struct pmu_pmc *pmc = row_add_selector(pmu, "PERFSEL", n);
	struct pmu_pmd *pmd = row_add_pmd(pmu, "PERFCTR", n, AMD_WIDTH);

	pmc->addr = sel;
	pmc->rsvd = amd_rsvd;
	pmc->wide = amd_north_bridge;

	pmd->pmc = pmc->gate;
	pmd->addr = ctr;
	pmd->waddr = ctr;
	pmd->wmask = pmu_low_bits(AMD_WIDTH);
	return pmd;
}

void amd_build(const struct pmu_features *f, struct pmu *pmu)
{
	if (f->version < 1) {
		for (unsigned n = 0; n < f->gp; n++)
			amd_add_counter(pmu, n, MSR_K7_EVTSEL0 + n, MSR_K7_PERFCTR0 + n);
		return;
	}
	if (f->version >= 2) {
		pmu->global_ctrl = MSR_AMD_GLOBAL_CTRL;
		pmu->status = MSR_AMD_GLOBAL_STATUS;
		pmu->clear = MSR_AMD_GLOBAL_CLEAR;
	}
	for (unsigned n = 0; n < f->gp && n < AMD_MAX_COUNTERS; n++) {
		struct pmu_pmd *pmd = amd_add_counter(
			pmu, n, MSR_F15_PERF_CTL0 + 2 * n, MSR_F15_PERF_CTR0 + 2 * n);

		if (pmu->global_ctrl)
			pmd->global = (int8_t)n;
	}
}
