// SPDX-License-Identifier: MIT
/*
 * Intel: architectural performance monitoring, versions 1 to 5 (SDM volume 3, chapter 20), and
 * the P6 family before it, as version 0.
 */
#include "backend/pmu/model.h"

#include <errno.h>

#include "backend/pmu/regs.h"
#include "backend/pmu/row.h"

enum {
	INTEL_MAX_GP = 8, /* Numbers of counters with an address in regs.h. */
	INTEL_MAX_FIXED = 5,

	FIXED_ENABLE = 3, /* OS and USR of a counter's four bits in FIXED_CTR_CTRL. */
	FIXED_OS = 1,
	FIXED_USR = 2,
	FIXED_NUM = 16,    /* Logical number of FIXED_CTR_CTRL and of fixed counter 0. */
	FIXED_GLOBAL = 32, /* Bit of fixed counter 0 in GLOBAL_CTRL. */
	FIXED_RDPMC = 1 << 30,

	LEAF_PERFMON = 0xa,
	ECX1_PDCM = 1u << 15, /* IA32_PERF_CAPABILITIES exists. */
	PERF_CAP_FULL_WIDTH = 1u << 13,
};

#define ECX1_HYPERVISOR (1u << 31)

/* Simulated selectors. The any-thread bit exists in versions 3 and 4. */
#define INTEL_SELECTOR_ANY 0xffffffffULL
#define INTEL_SELECTOR     (INTEL_SELECTOR_ANY & ~EVTSEL_ANY)

const struct pmu_model pmu_intel_models[] = {
	/* Simulated: Pentium III (Coppermine). */
	{"p6", "Intel P6 processor Family", PMU_INTEL, {.version = 0, .gp = 2, .gp_width = 40},
		{"p6", "2 of 40 bits, enabled by one bit", 0x683, 3, 0, INTEL_SELECTOR}},
	/* Simulated: Core Duo (Yonah). */
	{"intel_arch_v1", "Intel architectural", PMU_INTEL, {.version = 1, .gp = 2, .gp_width = 40},
		{"intel_v1", "2 of 40 bits, enabled separately", 0x6e8, 0xa, 0x80000008,
			INTEL_SELECTOR}},
	/* Simulated: Core 2 (Penryn). */
	{"intel_arch_v2", "Intel architectural", PMU_INTEL,
		{.version = 2, .gp = 2, .gp_width = 40, .fixed = 0x7, .fixed_width = 40},
		{"intel_v2", "2 of 40 bits, 3 fixed, global registers", 0x10676, 0xa, 0x80000008,
			INTEL_SELECTOR}},
	/* Simulated: Nehalem. */
	{"intel_arch_v3", "Intel architectural", PMU_INTEL,
		{.version = 3, .gp = 4, .gp_width = 48, .fixed = 0x7, .fixed_width = 48},
		{"intel_v3", "4 of 48 bits, 3 fixed; the any-thread bit is legal", 0x106a5, 0xb,
			0x80000008, INTEL_SELECTOR_ANY}},
	/* Simulated: Skylake. */
	{"intel_arch_v4", "Intel architectural", PMU_INTEL,
		{.version = 4,
			.gp = 4,
			.gp_width = 48,
			.fixed = 0x7,
			.fixed_width = 48,
			.full_width = true},
		{"intel_v4", "4 of 48 bits, 3 fixed; full-width writes, 0x391, 0x392", 0x506e3,
			0x16, 0x80000008, INTEL_SELECTOR_ANY}},
	/* Simulated: Ice Lake. */
	{"intel_arch_v5", "Intel architectural", PMU_INTEL,
		{.version = 5,
			.gp = 8,
			.gp_width = 48,
			.fixed = 0xf,
			.fixed_width = 48,
			.full_width = true},
		{"intel_v5", "8 of 48 bits, 4 fixed; no any-thread bit", 0x706e5, 0x1b, 0x80000008,
			INTEL_SELECTOR}},
	{0},
};

/* If a hypervisor hides the register, its read faults; narrow writes always work. */
static int intel_full_width(
	const struct pmu_cpu *cpu, const struct pmu_identity *id, bool *full, struct err *e)
{
	uint64_t caps;
	int rc;

	*full = false;
	if (!(id->leaf1[ECX] & ECX1_PDCM))
		return 0;
	rc = cpu->rdmsr(cpu->arg, MSR_PERF_CAPABILITIES, &caps);
	if (rc == -EIO)
		return 0;
	if (rc < 0)
		return err_set(
			e, -rc, "cannot read IA32_PERF_CAPABILITIES (0x345): %s", err_name(-rc));
	*full = caps & PERF_CAP_FULL_WIDTH;
	return 0;
}

/*
 * From version 5 on, ECX is a bitmap of fixed counters; before, only their number in EDX counts.
 * Some firmware reports none for versions 2 to 4, although every such CPU has three; a hypervisor
 * that reports none has none. Linux does the same (intel_pmu_init() in
 * arch/x86/events/intel/core.c).
 */
static void intel_fixed(
	const struct pmu_identity *id, const uint32_t leaf[4], struct pmu_features *f)
{
	unsigned n = leaf[EDX] & 0x1f;

	f->fixed = (uint32_t)pmu_low_bits(n);
	f->fixed_width = leaf[EDX] >> 5 & 0xff;
	if (f->version >= 5) {
		f->fixed |= leaf[ECX];
	} else if (!n && f->version >= 2 && !(id->leaf1[ECX] & ECX1_HYPERVISOR)) {
		f->fixed = 7;
		f->fixed_width = f->gp_width;
	}
}

int intel_features(const struct pmu_cpu *cpu, const struct pmu_identity *id,
	struct pmu_features *out, struct err *e)
{
	uint32_t leaf[4] = {0};
	int rc = 0;

	if (id->leaf0[EAX] >= LEAF_PERFMON)
		rc = cpu->cpuid(cpu->arg, LEAF_PERFMON, 0, leaf, e);
	if (rc < 0)
		return rc;
	*out = (struct pmu_features){
		.version = leaf[EAX] & 0xff,
		.gp = leaf[EAX] >> 8 & 0xff,
		.gp_width = leaf[EAX] >> 16 & 0xff,
	};
	if (out->version) {
		intel_fixed(id, leaf, out);
		return intel_full_width(cpu, id, &out->full_width, e);
	}
	if (id->family == 6 && id->model <= 13) {
		*out = pmu_intel_models[0].features;
		return 0;
	}
	if (id->family < 6 || id->family == 15)
		return err_set(e, ENODEV,
			"the PMU of Intel family %u model %u is not supported: use --backend=perf",
			id->family, id->model);
	return err_set(e, ENODEV,
		"this CPU reports no PMU (CPUID leaf 0xA is version 0), as in a virtual machine "
		"without one: use --backend=perf, or give the VM a PMU");
}

/* Reserved bits of selectors. Bits 63:32 are transaction and PEBS controls, unused here. */
static const uint64_t intel_rsvd = 0xffffffff00000000 | EVTSEL_INT | EVTSEL_PIN | EVTSEL_ANY;

/* Core Duo and Core 2: the unit mask of an event of the shared cache or bus selects both cores. */
static const uint64_t intel_all_cores = 0xc000;

/* A counter write takes 32 bits and sign-extends them; with bit 31 clear, the value is unchanged.
 */
static const uint64_t intel_narrow_wmask = 0x7fffffff;

static void intel_add_gp(struct pmu *pmu, const struct pmu_features *f, unsigned n)
{
	struct pmu_pmc *pmc = row_add_selector(pmu, "PERFEVTSEL", n);
	struct pmu_pmd *pmd = row_add_pmd(pmu, "PMC", n, f->gp_width);

	pmc->addr = MSR_EVTSEL0 + n;
	pmc->rsvd = intel_rsvd;
	if (f->version == 1 || f->version == 2)
		pmc->wide = intel_all_cores;

	pmd->pmc = pmc->gate;
	pmd->addr = MSR_PMC0 + n;
	pmd->waddr = f->full_width ? MSR_A_PMC0 + n : pmd->addr;
	pmd->wmask = f->full_width ? pmu_low_bits(f->gp_width) : intel_narrow_wmask;
	if (f->version >= 2)
		pmd->global = (int8_t)n;
}

static void intel_add_fixed(
	struct pmu *pmu, const struct pmu_features *f, struct pmu_pmc *ctrl, unsigned n)
{
	struct pmu_pmd *pmd = row_add_pmd(pmu, "FIXED_CTR", n, f->fixed_width);

	pmd->num = (uint16_t)(FIXED_NUM + n);
	pmd->pmc = ctrl->gate;
	/* Includes the interrupt and any-thread bits, which must stay 0. If one of them is set,
	 * the counter belongs to another user, such as the NMI watchdog. */
	pmd->field = (uint64_t)0xf << 4 * n;
	pmd->addr = MSR_FIXED_CTR0 + n;
	pmd->waddr = pmd->addr;
	pmd->wmask = intel_narrow_wmask;
	pmd->global = (int8_t)(FIXED_GLOBAL + n);
	pmd->rdpmc = FIXED_RDPMC + n;

	ctrl->enable |= (uint64_t)FIXED_ENABLE << 4 * n;
	ctrl->kernel |= (uint64_t)FIXED_OS << 4 * n;
	ctrl->user |= (uint64_t)FIXED_USR << 4 * n;
	ctrl->rsvd &= ~((uint64_t)FIXED_ENABLE << 4 * n);
}

static void intel_add_fixed_all(struct pmu *pmu, const struct pmu_features *f, uint32_t fixed)
{
	struct pmu_pmc *ctrl = &pmu->pmcs[pmu->npmcs];

	snprintf(ctrl->name, sizeof(ctrl->name), "FIXED_CTR_CTRL");
	ctrl->gate = pmu->npmcs++;
	ctrl->num = FIXED_NUM;
	ctrl->addr = MSR_FIXED_CTR_CTRL;
	ctrl->rsvd = UINT64_MAX;
	ctrl->shared = true;
	for (unsigned n = 0; n < INTEL_MAX_FIXED; n++)
		if (fixed & 1u << n)
			intel_add_fixed(pmu, f, ctrl, n);
}

void intel_build(const struct pmu_features *f, struct pmu *pmu)
{
	uint32_t fixed = f->fixed & (uint32_t)pmu_low_bits(INTEL_MAX_FIXED);

	for (unsigned n = 0; n < f->gp && n < INTEL_MAX_GP; n++)
		intel_add_gp(pmu, f, n);
	if (f->version == 0) {
		/* P6: EN of the first selector starts both counters; the second has no EN. */
		pmu->pmcs[1].rsvd |= EVTSEL_EN;
		pmu->pmcs[1].enable = 0;
		pmu->pmcs[1].gate = 0;
	}
	if (f->version < 2)
		return;
	if (fixed)
		intel_add_fixed_all(pmu, f, fixed);
	pmu->global_ctrl = MSR_GLOBAL_CTRL;
	pmu->status = MSR_GLOBAL_STATUS;
	pmu->clear = MSR_GLOBAL_OVF_CTRL;
	if (f->version >= 4)
		pmu->inuse = MSR_GLOBAL_INUSE;
}
