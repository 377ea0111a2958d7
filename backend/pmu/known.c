// SPDX-License-Identifier: MIT
/*
 * Tables of registers. They prevent writes to registers that do not belong to a PMU: a description
 * may use only registers in these tables, and only in the role given here.
 */
#include "backend/pmu/known.h"

#include "backend/pmu/regs.h"

struct known {
	uint32_t first, last, step;
	enum role role;
};

/* PMU registers of x86 that a description may use. */
static const struct known known_x86[] = {
	{0x186, 0x18d, 1, ROLE_SELECT}, /* P6, Intel */
	{0xc1, 0xc8, 1, ROLE_COUNTER},
	{0x4c1, 0x4c8, 1, ROLE_COUNTER}, /* full-width alias */
	{0x309, 0x30d, 1, ROLE_COUNTER}, /* fixed counters */
	{0x38d, 0x38d, 1, ROLE_FIXED_CTRL},
	{0x38e, 0x38e, 1, ROLE_STATUS},
	{0x38f, 0x38f, 1, ROLE_GLOBAL},
	{0x390, 0x390, 1, ROLE_CLEAR},
	/* only before version 4, where it sets status bits */
	{0x391, 0x391, 1, ROLE_UNCORE_GLOBAL},
	{0x392, 0x392, 1, ROLE_INUSE},
	{0x394, 0x394, 1, ROLE_COUNTER}, /* Nehalem's uncore: fixed, match, others */
	{0x395, 0x395, 1, ROLE_UNCORE_FIXED},
	{0x396, 0x396, 1, ROLE_EXTRA},
	{0x3b0, 0x3b7, 1, ROLE_COUNTER},
	{0x3c0, 0x3c7, 1, ROLE_UNCORE_SELECT},
	{0x1a6, 0x1a7, 1, ROLE_EXTRA},            /* off-core response */
	{0x3f6, 0x3f7, 1, ROLE_EXTRA},            /* load latency, front end */
	{0xc0010000, 0xc0010003, 1, ROLE_SELECT}, /* AMD since K7 */
	{0xc0010004, 0xc0010007, 1, ROLE_COUNTER},
	{0xc0010200, 0xc001020e, 2, ROLE_SELECT}, /* AMD PerfCtrExtCore */
	{0xc0010201, 0xc001020f, 2, ROLE_COUNTER},
	{0xc0010230, 0xc001023a, 2, ROLE_AMD_SHARED}, /* last-level cache */
	{0xc0010231, 0xc001023b, 2, ROLE_COUNTER},
	{0xc0010240, 0xc001025e, 2, ROLE_AMD_SHARED}, /* north bridge, data fabric */
	{0xc0010241, 0xc001025f, 2, ROLE_COUNTER},
	{0xc0010800, 0xc001087e, 2, ROLE_UMC_SELECT}, /* memory controllers */
	{0xc0010801, 0xc001087f, 2, ROLE_COUNTER},
	{0xc0000300, 0xc0000300, 1, ROLE_STATUS}, /* AMD PerfMonV2 */
	{0xc0000301, 0xc0000301, 1, ROLE_GLOBAL},
	{0xc0000302, 0xc0000302, 1, ROLE_CLEAR},
};

/*
 * PMU registers of NetBurst (SDM volume 4, MSRs in the Pentium 4 and Xeon processors). Other
 * processors have other registers at some of these addresses. Excludes 0x3BF, which the manual
 * lacks, and the PEBS registers (0x3F1, 0x3F2).
 */
static const struct known known_netburst[] = {
	{0x300, 0x311, 1, ROLE_COUNTER}, {0x360, 0x371, 1, ROLE_CCCR},
	{0x3a0, 0x3be, 1, ROLE_ESCR}, /* BSU to SSU */
	{0x3c0, 0x3c5, 1, ROLE_ESCR}, /* MS, TBPU, TC */
	{0x3c8, 0x3cd, 1, ROLE_ESCR}, /* IX, ALF, CRU_ESCR2 and 3 */
	{0x3e0, 0x3e1, 1, ROLE_ESCR}, /* CRU_ESCR4 and 5 */
};

/* Registers of Itanium 2 that a description may use. PMC 1 to 3 are not included, as they have no
 * bits of its counters. */
static const struct known known_ipf[] = {
	{PMU_IPF_PMC + 0, PMU_IPF_PMC + 0, 1, ROLE_IPF_FREEZE},
	{PMU_IPF_PMC + 4, PMU_IPF_PMC + 7, 1, ROLE_IPF_SELECT},
	{PMU_IPF_PMC + 8, PMU_IPF_PMC + 9, 1, ROLE_EXTRA}, /* opcode matchers */
	{PMU_IPF_PMC + 10, PMU_IPF_PMC + 12, 1, ROLE_IPF_CAPTURE},
	/* events that these and address ranges restrict */
	{PMU_IPF_PMC + 13, PMU_IPF_PMC + 15, 1, ROLE_EXTRA},
	{PMU_IPF_PMD + 0, PMU_IPF_PMD + 17, 1, ROLE_COUNTER},
	{PMU_IPF_IBR + 0, PMU_IPF_IBR + 6, 2, ROLE_EXTRA}, /* addresses */
	{PMU_IPF_IBR + 1, PMU_IPF_IBR + 7, 2, ROLE_IPF_IBR_MASK},
	{PMU_IPF_DBR + 0, PMU_IPF_DBR + 6, 2, ROLE_EXTRA},
	{PMU_IPF_DBR + 1, PMU_IPF_DBR + 7, 2, ROLE_IPF_DBR_MASK},
};

/*
 * INT raises an interrupt that the kernel does not expect and may report as a hardware failure; PIN
 * drives a pin of the package; ANY counts threads of other users.
 */
static const struct meaning known_meanings[] = {
	[ROLE_SELECT] = {EVTSEL_INT | EVTSEL_PIN | EVTSEL_ANY, EVTSEL_EN, EVTSEL_OS},
	/* Four bits per counter: OS, USR, ANY, PMI; bits 63:32 are PEBS controls. */
	[ROLE_FIXED_CTRL] = {0xffffffffcccccccc, 0x33333333, 0x11111111},
	/* Bit 20 and, of the fixed counter, bit 2 interrupt; so do bits 63:48 of the global
	   control. */
	[ROLE_UNCORE_SELECT] = {~0xffc6ffffULL, EVTSEL_EN, 0},
	[ROLE_UNCORE_FIXED] = {~1ULL, 1, 0},
	[ROLE_UNCORE_GLOBAL] = {~0x1000000ffULL, 0x1000000ff, 0},
	[ROLE_AMD_SHARED] = {EVTSEL_INT | EVTSEL_PIN | EVTSEL_ANY, EVTSEL_EN, 0},
	[ROLE_UMC_SELECT] = {~0x800003ffULL, 1ULL << 31, 0},
	[ROLE_EXTRA] = {0, 0, 0},
	/* Event, mask, tag, and levels of the first thread; the second thread's levels belong to
	 * another user. */
	[ROLE_ESCR] = {~0x7ffffffcULL, 0, ESCR_T0_OS},
	/* FORCE_OVF, the two OVF_PMI and CASCADE act on interrupts and other counters. */
	[ROLE_CCCR] = {~0x1fff000ULL, CCCR_ENABLE, 0},
	[ROLE_IPF_FREEZE] = {~1ULL, 0, 0},
	/* Bit 5 interrupts; bits 3:0 are the privilege levels. */
	[ROLE_IPF_SELECT] = {1 << 5, 0xf, 1},
	[ROLE_IPF_CAPTURE] = {0, 0xf, 1},
	/* These bits turn a pair into a breakpoint. */
	[ROLE_IPF_IBR_MASK] = {1ULL << 63, 0, 0},
	[ROLE_IPF_DBR_MASK] = {3ULL << 62, 0, 0},
};

const struct meaning *known_meaning(enum role role)
{
	return &known_meanings[role];
}

/* Whether @pmu is NetBurst, which is true if it has CCCRs. */
static bool known_is_netburst(const struct pmu *pmu)
{
	for (unsigned i = 0; i < pmu->npmcs; i++)
		if (pmu->pmcs[i].escr_select)
			return true;
	return false;
}

#define ROWS(table, n) (*(n) = sizeof(table) / sizeof((table)[0]), (table))

/* The table of registers that @pmu may have; sets *@n to its size. */
static const struct known *known_table(const struct pmu *pmu, size_t *n)
{
	if (pmu->space == PMU_SPACE_IPF)
		return ROWS(known_ipf, n);
	return known_is_netburst(pmu) ? ROWS(known_netburst, n) : ROWS(known_x86, n);
}

bool known_role(const struct pmu *pmu, uint32_t addr, enum role *role)
{
	size_t n;
	const struct known *table = known_table(pmu, &n);

	for (unsigned i = 0; i < n; i++) {
		const struct known *k = &table[i];

		if (addr < k->first || addr > k->last || (addr - k->first) % k->step != 0)
			continue;
		*role = k->role;
		return k->role != ROLE_UNCORE_GLOBAL || !pmu->inuse;
	}
	return false;
}

/* Registers that also have a second address. */
static const struct {
	uint32_t first, n, step;  /* The second addresses. */
	uint32_t same, same_step; /* The first addresses. */
} known_aliases[] = {
	{0x4c1, 8, 1, 0xc1, 1},            /* Intel, full width */
	{0xc0010200, 4, 2, 0xc0010000, 1}, /* AMD PerfCtrExtCore: the registers since K7 */
	{0xc0010201, 4, 2, 0xc0010004, 1},
};

uint32_t known_unalias(const struct pmu *pmu, uint32_t addr)
{
	for (unsigned i = 0; i < sizeof(known_aliases) / sizeof(known_aliases[0]); i++) {
		uint32_t at = addr - known_aliases[i].first, step = known_aliases[i].step;

		if (pmu->space == PMU_SPACE_MSR && at % step == 0 && at / step < known_aliases[i].n)
			return known_aliases[i].same + at / step * known_aliases[i].same_step;
	}
	return addr;
}

const char *const known_units[] = {[PMU_UNIT_TICKS] = "ticks",
	[PMU_UNIT_EVENTS] = "events",
	[PMU_UNIT_DEGREES] = "degrees",
	[PMU_UNIT_RAPL] = "rapl",
	[PMU_UNIT_RAPL_ATOM] = "rapl_atom",
	[PMU_UNIT_RAPL_16] = "rapl_16",
	[PMU_UNIT_RAPL_0] = "rapl_0",
	[PMU_UNIT_RAPL_AMD] = "rapl_amd",
	NULL};

static const struct known_free known_frees[] = {
	{0x10, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* TSC */
	{0xe7, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* MPERF, APERF */
	{0xe8, 1u << PMU_UNIT_TICKS, UINT64_MAX},
	{0x64e, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* PPERF */
	{0x34, 1u << PMU_UNIT_EVENTS, UINT32_MAX}, /* SMI count */
	{0x3f8, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* C-states of the package: C3, C6, C7, C2 */
	{0x3f9, 1u << PMU_UNIT_TICKS, UINT64_MAX}, {0x3fa, 1u << PMU_UNIT_TICKS, UINT64_MAX},
	{0x60d, 1u << PMU_UNIT_TICKS, UINT64_MAX},
	{0x3fc, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* of the core: C3, C6, C7 */
	{0x3fd, 1u << PMU_UNIT_TICKS, UINT64_MAX}, {0x3fe, 1u << PMU_UNIT_TICKS, UINT64_MAX},
	{0x19c, 1u << PMU_UNIT_DEGREES, 0x7f0000}, /* thermal status of the core, of the package */
	{0x1b1, 1u << PMU_UNIT_DEGREES, 0x7f0000},
	{0x611, 1u << PMU_UNIT_RAPL | 1u << PMU_UNIT_RAPL_ATOM, UINT32_MAX}, /* package */
	{0x639, 1u << PMU_UNIT_RAPL | 1u << PMU_UNIT_RAPL_ATOM, UINT32_MAX}, /* cores */
	{0x641, 1u << PMU_UNIT_RAPL, UINT32_MAX},                            /* graphics */
	{0x619, 1u << PMU_UNIT_RAPL | 1u << PMU_UNIT_RAPL_16, UINT32_MAX},   /* memory */
	{0x64d, 1u << PMU_UNIT_RAPL | 1u << PMU_UNIT_RAPL_0, UINT32_MAX},    /* platform */
	{0xc001029a, 1u << PMU_UNIT_RAPL_AMD, UINT32_MAX},                   /* core */
	{0xc001029b, 1u << PMU_UNIT_RAPL_AMD, UINT32_MAX},                   /* package */
	{0xc00000e9, 1u << PMU_UNIT_EVENTS, UINT64_MAX},                     /* IRPERF */
};

const struct known_free *known_find_free(uint32_t addr)
{
	for (unsigned i = 0; i < sizeof(known_frees) / sizeof(known_frees[0]); i++)
		if (known_frees[i].addr == addr)
			return &known_frees[i];
	return NULL;
}
