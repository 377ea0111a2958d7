/* SPDX-License-Identifier: MIT */
/* Descriptions of the PMU families, built from the few parameters in which their members differ. */
#ifndef BACKEND_PMU_FAMILIES_H
#define BACKEND_PMU_FAMILIES_H

#include <stdbool.h>
#include <stdint.h>

#include "perfmonfs/pmu.h"

enum {
	INTEL_MAX_GP = 8, /* counters for which the registers of regs.h leave room */
	INTEL_MAX_FIXED = 5,
	AMD_EXT_COUNTERS = 6,
	AMD_MAX_EXT = 8,
};

/* What CPUID leaf 0xA and IA32_PERF_CAPABILITIES say. */
struct intel_params {
	unsigned version; /* 1..5 */
	unsigned gp;      /* general-purpose counters */
	unsigned gp_width;
	uint32_t fixed; /* one bit per fixed counter */
	unsigned fixed_width;
	bool fw_write; /* full-width writes through the alias */
};

/* More counters than the limits above are left out. */
void intel_arch_build(const struct intel_params *p, struct pmu *pmu);
void p6_build(struct pmu *pmu);

/* Four counters, each with its own switch: what every AMD CPU has had since K7. */
void amd64_build(struct pmu *pmu);

/* PerfCtrExtCore: six counters at other addresses. */
void amd64_ext_build(struct pmu *pmu);

/* PerfMonV2: @counters, and a global control. */
void amd64_v2_build(unsigned counters, struct pmu *pmu);

#endif
