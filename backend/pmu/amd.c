// SPDX-License-Identifier: MIT
/* CPUID rules of AMD and Hygon (APM volume 3, appendix E). All counters have 48 bits. */
#include "backend/pmu/model.h"

#include <errno.h>

enum {
	AMD_WIDTH = 48,
	AMD_EXT_COUNTERS = 6,

	ECX80000001_PERFCTR = 1u << 23, /* PerfCtrExtCore */
	EAX80000022_V2 = 1u << 0,
};

int amd_features(const struct pmu_cpu *cpu, const struct pmu_identity *id, struct pmu_features *out,
	struct err *e)
{
	uint32_t max[4], v2[4] = {0}, ext[4] = {0};
	int rc = cpu->cpuid(cpu->arg, 0x80000000, 0, max, e);

	(void)id;
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
	return 0;
}

int amd_no_model(const struct pmu_identity *id, struct err *e)
{
	return err_set(
		e, ENODEV, "%s family %u has no PMU: use --backend=perf", id->vendor, id->family);
}
