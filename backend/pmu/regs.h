/* SPDX-License-Identifier: MIT */
/* Addresses of PMU registers of x86, with the names of the vendors' manuals. */
#ifndef BACKEND_PMU_REGS_H
#define BACKEND_PMU_REGS_H

enum {
	/* Intel. P6 has two counters from PMC0 on and two selectors from EVTSEL0 on. */
	MSR_PMC0 = 0xc1,
	MSR_EVTSEL0 = 0x186,
	MSR_FIXED_CTR0 = 0x309,
	MSR_PERF_CAPABILITIES = 0x345,
	MSR_FIXED_CTR_CTRL = 0x38d,
	MSR_GLOBAL_STATUS = 0x38e,
	MSR_GLOBAL_CTRL = 0x38f,
	MSR_GLOBAL_OVF_CTRL = 0x390, /* GLOBAL_STATUS_RESET from version 4 on. */
	MSR_GLOBAL_INUSE = 0x392,
	MSR_A_PMC0 = 0x4c1, /* Full-width alias of PMC0. */
};

/* AMD. The values exceed the range of C11 enumerators. */
#define MSR_AMD_GLOBAL_STATUS 0xc0000300u
#define MSR_AMD_GLOBAL_CTRL   0xc0000301u
#define MSR_AMD_GLOBAL_CLEAR  0xc0000302u
#define MSR_K7_EVTSEL0        0xc0010000u
#define MSR_K7_PERFCTR0       0xc0010004u
#define MSR_F15_PERF_CTL0     0xc0010200u /* CTL and CTR alternate. */
#define MSR_F15_PERF_CTR0     0xc0010201u

/* Selector bits that are always reserved: pin control and counting of other threads. */
#define EVTSEL_PIN (1ULL << 19)
#define EVTSEL_ANY (1ULL << 21)

/* NetBurst: a CCCR enables a counter and chooses the ESCR that selects its event. */
#define MSR_P4_CCCR0     0x360u
#define MSR_P4_CCCR17    0x371u
#define CCCR_ENABLE      (1ULL << 12)
#define CCCR_ESCR_SELECT (7ULL << 13)
#define CCCR_OVF_PMI     (3ULL << 26) /* Overflow interrupts for both threads. */
#define CCCR_OVF         (1ULL << 31)
#define ESCR_T0_OS       (1ULL << 3)
#define ESCR_T0_USR      (1ULL << 2)
#define ESCR_T1          3ULL /* OS and USR for the second thread. */

#endif
