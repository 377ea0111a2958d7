// SPDX-License-Identifier: MIT
/*
 * Intel: architectural performance monitoring, versions 1 to 5 (SDM volume 3, chapter 20), and
 * the P6 family before it.
 */
#include "backend/pmu/families.h"

#include "backend/pmu/regs.h"
#include "backend/pmu/row.h"

enum {
	FIXED_ENABLE = 3, /* OS and USR of a counter's four bits in FIXED_CTR_CTRL */
	FIXED_OS = 1,
	FIXED_NUM = 16,    /* logical number of FIXED_CTR_CTRL, and of fixed counter 0 */
	FIXED_GLOBAL = 32, /* bit of fixed counter 0 in GLOBAL_CTRL */
	FIXED_RDPMC = 1 << 30,
};

/* 63:32 hold transaction and PEBS controls, which counting has no use for. */
static const uint64_t select_rsvd = 0xffffffff00000000 | EVTSEL_INT | EVTSEL_PIN | EVTSEL_ANY;

/*
 * A write to a counter takes 32 bits and copies the topmost of them into all above: with that
 * bit clear the counter holds what was written.
 */
static const uint64_t legacy_wmask = 0x7fffffff;

static void add_gp(struct pmu *pmu, const struct intel_params *p, unsigned n)
{
	struct pmu_pmc *pmc = pmu_add_pmc(pmu, "PERFEVTSEL", n);
	struct pmu_pmd *pmd = pmu_add_pmd(pmu, "PMC", n, p->gp_width);

	pmc->num = (uint16_t)n;
	pmc->addr = MSR_EVTSEL0 + n;
	pmc->rsvd = select_rsvd;
	pmc->enable = EVTSEL_EN;
	pmc->kernel = EVTSEL_OS;

	pmd->num = (uint16_t)n;
	pmd->pmc = pmc->gate;
	pmd->addr = MSR_PMC0 + n;
	pmd->waddr = p->fw_write ? MSR_A_PMC0 + n : pmd->addr;
	pmd->wmask = p->fw_write ? pmu_low_bits(p->gp_width) : legacy_wmask;
	if (p->version >= 2)
		pmd->global = (int8_t)n;
}

static void add_fixed(
	struct pmu *pmu, const struct intel_params *p, struct pmu_pmc *ctrl, unsigned n)
{
	struct pmu_pmd *pmd = pmu_add_pmd(pmu, "FIXED_CTR", n, p->fixed_width);

	pmd->num = (uint16_t)(FIXED_NUM + n);
	pmd->pmc = ctrl->gate;
	/* With the interrupt and any-thread bits, which must stay 0: a nibble that has them is not
	 * ours any more (the NMI watchdog's has). */
	pmd->field = (uint64_t)0xf << 4 * n;
	pmd->addr = MSR_FIXED_CTR0 + n;
	pmd->waddr = pmd->addr;
	pmd->wmask = legacy_wmask;
	pmd->global = (int8_t)(FIXED_GLOBAL + n);
	pmd->rdpmc = FIXED_RDPMC + n;

	ctrl->enable |= (uint64_t)FIXED_ENABLE << 4 * n;
	ctrl->kernel |= (uint64_t)FIXED_OS << 4 * n;
	ctrl->rsvd &= ~((uint64_t)FIXED_ENABLE << 4 * n);
}

static void add_fixed_all(struct pmu *pmu, const struct intel_params *p, uint32_t fixed)
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
			add_fixed(pmu, p, ctrl, n);
}

void intel_arch_build(const struct intel_params *p, struct pmu *pmu)
{
	uint32_t fixed = p->fixed & (uint32_t)pmu_low_bits(INTEL_MAX_FIXED);
	char name[PMU_NAME];

	snprintf(name, sizeof(name), "intel_arch_v%u", p->version);
	pmu_start(pmu, name, "Intel architectural");
	for (unsigned n = 0; n < p->gp && n < INTEL_MAX_GP; n++)
		add_gp(pmu, p, n);
	if (p->version < 2)
		return;
	if (fixed)
		add_fixed_all(pmu, p, fixed);
	pmu->global_ctrl = MSR_GLOBAL_CTRL;
	pmu->status = MSR_GLOBAL_STATUS;
	pmu->clear = MSR_GLOBAL_OVF_CTRL;
	if (p->version >= 4)
		pmu->inuse = MSR_GLOBAL_INUSE;
}

void p6_build(struct pmu *pmu)
{
	const struct intel_params p = {.version = 1, .gp = 2, .gp_width = 40};

	pmu_start(pmu, "p6", "Intel P6 processor Family");
	for (unsigned n = 0; n < p.gp; n++)
		add_gp(pmu, &p, n);
	/* EN of the first selector starts both counters; the second has none. */
	pmu->pmcs[1].rsvd |= EVTSEL_EN;
	pmu->pmcs[1].enable = 0;
	pmu->pmcs[1].gate = 0;
}
