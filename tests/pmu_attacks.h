/* SPDX-License-Identifier: MIT */
/* Registers by which a description could take the machine over, or break it: none of a PMU's. */
#ifndef TESTS_PMU_ATTACKS_H
#define TESTS_PMU_ATTACKS_H

#include "perfmonfs/pmu.h"

static const uint32_t pmu_attacks[] = {
	0x1b,       /* APIC_BASE */
	0x174,      /* SYSENTER_CS */
	0x175,      /* SYSENTER_ESP */
	0x176,      /* SYSENTER_EIP */
	0x1a0,      /* MISC_ENABLE */
	0x1c8,      /* LBR_SELECT */
	0x1c9,      /* LASTBRANCH_TOS */
	0x1d9,      /* DEBUGCTL */
	0x391,      /* It sets bits of GLOBAL_STATUS: see below. */
	0x3f1,      /* PEBS_ENABLE */
	0x3f2,      /* PEBS_DATA_CFG */
	0x600,      /* DS_AREA */
	0xc0000080, /* EFER */
	0xc0000082, /* LSTAR */
	0xc0010010, /* SYSCFG */
	0xc0010015, /* HWCR */
};

enum { PMU_ATTACKS = sizeof(pmu_attacks) / sizeof(pmu_attacks[0]) };

/* Before version 4, which has an in-use register, 0x391 is the control of Nehalem's uncore. */
static inline bool pmu_attack_is_uncore(const struct pmu *pmu, uint32_t addr)
{
	return addr == 0x391 && !pmu->inuse;
}

#endif
