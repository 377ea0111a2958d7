/* SPDX-License-Identifier: MIT */
/* The files of pmu/ of some trees, as pfm reads them. */
#ifndef TESTS_UNIT_PFM_PMUS_H
#define TESTS_UNIT_PFM_PMUS_H

#include "tools/pfm/events/pfm_pmu.h"

#define INTEL_PMC(n, addr)                                                                         \
#n " PERFEVTSEL" #n " msr " #addr " 0x0000000000000000 0xffffffff00380000\n"
#define PMD(n, name, addr) #n " " name " msr " #addr " 0x0 0x0\n"
#define AMD_PMC(n, addr)   #n " PERFSEL" #n " msr " #addr " 0x0 0xfffffcf000380000\n"

static const char pfm_pmus_intel_pmcs[] =
	INTEL_PMC(0, 0x186) INTEL_PMC(1, 0x187) INTEL_PMC(2, 0x188) INTEL_PMC(
		3, 0x189) "16 FIXED_CTR_CTRL msr 0x38d 0x0000000000000000 0xfffffffffffff444\n";
static const char pfm_pmus_intel_pmds[] = PMD(0, "PMC0", 0xc1) PMD(1, "PMC1", 0xc2) PMD(2, "PMC2",
	0xc3) PMD(3, "PMC3", 0xc4) PMD(16, "FIXED_CTR0", 0x309) PMD(17, "FIXED_CTR1", 0x30a) PMD(18,
	"FIXED_CTR2", 0x30b) "256 clock virtual 0x0 0x0000000000000000 0xffffffffffffffff\n";

/* With the extra register of offcore events, as a description file may add it. */
static const char pfm_pmus_extra_pmcs[] = INTEL_PMC(0, 0x186)
	INTEL_PMC(1, 0x187) "20 OFFCORE_RSP0 msr 0x1a6 0x0000000000000000 0x0000000000000000\n";

static const char pfm_pmus_p6_pmcs[] =
	INTEL_PMC(0, 0x186) "1 PERFEVTSEL1 msr 0x187 0x0000000000000000 0xffffffff00780000\n";

#define ESCR(n, addr) #n " ESCR msr " #addr " 0x0000000000000000 0xffffffff80000003 core\n"
#define CCCR(n, addr, escrs)                                                                       \
#n " CCCR msr " #addr " 0x0000000000030000 0xfffffffffe000fff core escr=0xe000:" escrs "\n"

/* PMD 1 has the CCCR that does not stop it. */
static const char pfm_pmus_netburst_pmcs[] = ESCR(6, 0x3a2) ESCR(20, 0x3b8)
	CCCR(23, 0x360, "-,1,-,-,-,-,6,-") CCCR(24, 0x361, "-,-,-,-,-,-,6,-")
		CCCR(29, 0x36c, "-,-,-,-,20") ESCR(38, 0x3a3) ESCR(51, 0x3b9)
			CCCR(54, 0x362, "-,-,-,-,-,-,38") CCCR(60, 0x36e, "-,-,-,-,51,52,53,-");
static const char pfm_pmus_netburst_pmds[] = PMD(0, "BPU_CTR0", 0x300) PMD(1, "BPU_CTR1", 0x301)
	PMD(6, "IQ_CTR0", 0x30c) PMD(9, "BPU_CTR2", 0x302) PMD(15, "IQ_CTR2", 0x30e);

static const char pfm_pmus_amd_pmcs[] = AMD_PMC(0, 0xc0010200) AMD_PMC(1, 0xc0010202)
	AMD_PMC(2, 0xc0010204) AMD_PMC(3, 0xc0010206) AMD_PMC(4, 0xc0010208) AMD_PMC(5, 0xc001020a);
static const char pfm_pmus_amd_pmds[] = PMD(0, "PERFCTR0", 0xc0010201)
	PMD(1, "PERFCTR1", 0xc0010203) PMD(2, "PERFCTR2", 0xc0010205) PMD(3, "PERFCTR3", 0xc0010207)
		PMD(4, "PERFCTR4", 0xc0010209) PMD(5, "PERFCTR5", 0xc001020b);

/* Two of the six, and three memory controllers with two counters each. */
#define UMC_PMC(n, addr)      #n " UMC_CTL" #n " msr " #addr " 0x0 0xffffffff7ffffc00 package\n"
#define UMC_PMD(n, addr, umc) #n " UMC_CTR" #n " msr " #addr " 0x0 0x0 package umc=" #umc "\n"

static const char pfm_pmus_umc_pmcs[] = AMD_PMC(0, 0xc0010200) AMD_PMC(1, 0xc0010202)
	UMC_PMC(64, 0xc0010800) UMC_PMC(65, 0xc0010802) UMC_PMC(68, 0xc0010808)
		UMC_PMC(69, 0xc001080a) UMC_PMC(72, 0xc0010810) UMC_PMC(73, 0xc0010812);
static const char pfm_pmus_umc_pmds[] =
	PMD(0, "PERFCTR0", 0xc0010201) PMD(1, "PERFCTR1", 0xc0010203) UMC_PMD(64, 0xc0010801, 0)
		UMC_PMD(65, 0xc0010803, 0) UMC_PMD(68, 0xc0010809, 1) UMC_PMD(69, 0xc001080b, 1)
			UMC_PMD(72, 0xc0010811, 2) UMC_PMD(73, 0xc0010813, 2);

static const char pfm_pmus_perf_pmcs[] = "0 SLOT0 perf 0x0 0x0 0x00fcfff00030f800\n"
					 "1 SLOT1 perf 0x1 0x0 0x00fcfff00030f800\n";
static const char pfm_pmus_perf_pmds[] = "0 SLOT0 perf 0x0 0x0 0x0\n1 SLOT1 perf 0x1 0x0 0x0\n";
static const char pfm_pmus_perf_events[] =
	"page-faults 0x0100000000430003 page faults, minor and major\n"
	"context-switches 0x0100000000430004 switches of the CPU from one task to another\n";

static inline struct pfm_pmu_text pfm_pmus_text(
	const char *name, const char *backend, const char *pmcs, const char *pmds)
{
	return (struct pfm_pmu_text){.name = slice_of(name),
		.model = slice_of("a model"),
		.backend = slice_of(backend),
		.pmcs = slice_of(pmcs),
		.pmds = slice_of(pmds)};
}

#endif
