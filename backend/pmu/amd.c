// SPDX-License-Identifier: MIT
/* CPUID rules of AMD and Hygon (APM volume 3, appendix E). All counters have 48 bits. */
#include "backend/pmu/model.h"

#include <errno.h>

enum {
	AMD_WIDTH = 48,
	AMD_EXT_COUNTERS = 6,
	AMD_L3_COUNTERS = 6, /* On family 17h and later; before, the bit is about another cache. */
	AMD_NB_COUNTERS = 4, /* Without PerfMonV2. */
	AMD_ZEN = 0x17,

	ECX80000001_PERFCTR = 1u << 23, /* PerfCtrExtCore */
	ECX80000001_NB = 1u << 24,      /* PerfCtrExtNB */
	ECX80000001_LLC = 1u << 28,     /* PerfCtrExtLLC */
	EAX80000022_V2 = 1u << 0,
};

/* Finds the shared counters. Under a hypervisor there are none: hypervisors report the processor's
 * bits but lack the registers. */
static void amd_shared_features(const struct pmu_identity *id, const uint32_t ext[4],
	const uint32_t v2[4], struct pmu_features *f)
{
	if (id->leaf1[ECX] & ECX1_HYPERVISOR)
		return;
	if (id->family >= AMD_ZEN && ext[ECX] & ECX80000001_LLC)
		f->l3 = AMD_L3_COUNTERS;
	if (ext[ECX] & ECX80000001_NB)
		f->df = AMD_NB_COUNTERS;
	if (f->version < 2)
		return;
	f->df = v2[EBX] >> 10 & 0x3f;
	f->umc = v2[EBX] >> 16 & 0x3f;
	f->umcs = (unsigned)__builtin_popcount(v2[ECX]); /* One bit for each active controller. */
}

int amd_features(const struct pmu_cpu *cpu, const struct pmu_identity *id, struct pmu_features *out,
	struct err *e)
{
	uint32_t max[4], v2[4] = {0}, ext[4] = {0};
	int rc = cpu->cpuid(cpu->arg, 0x80000000, 0, max, e);

	if (rc == 0 && max[EAX] >= 0x80000001)
		rc = cpu->cpuid(cpu->arg, 0x80000001, 0, ext, e);
	if (rc == 0 && max[EAX] >= 0x80000022)
		rc = cpu->cpuid(cpu->arg, 0x80000022, 0, v2, e);
	if (rc < 0)
		return rc;
	*out = (struct pmu_features){.gp_width = AMD_WIDTH};
	if (v2[EAX] & EAX80000022_V2) {
		out->version = 2;
		out->gp = v2[EBX] & 0xf;
	} else if (ext[ECX] & ECX80000001_PERFCTR) {
		out->version = 1;
		out->gp = AMD_EXT_COUNTERS;
	}
	amd_shared_features(id, ext, v2, out);
	return 0;
}

int amd_no_model(const struct pmu_identity *id, struct err *e)
{
	return err_set(e, ENODEV, "%s family %u has no PMU: use perfmonfs --backend=perf",
		id->vendor, id->family);
}
