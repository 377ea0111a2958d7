// SPDX-License-Identifier: MIT
/* Builds the rows of a description. */
#include "backend/msr/reg.h"

#include "backend/pmu/low_bits.h"

static struct msr_reg *reg_add(
	struct msr_regs *regs, const struct pmu *pmu, uint32_t addr, const char *name)
{
	struct msr_reg *reg = &regs->reg[regs->n++];
	uint32_t at = addr;

	while (regs->at[at % MSR_HASH])
		at++;
	regs->at[at % MSR_HASH] = reg;
	*reg = (struct msr_reg){
		.addr = addr,
		.waddr = addr,
		.writable = pmu_writable(pmu, addr),
		.enable = pmu_enable_bits(pmu, addr),
		.name = name,
	};
	reg->checked = !reg->writable;
	return reg;
}

/* Bits of a shared selector that belong to its counters or, if it restricts all counters, that may
 * be written. */
static uint64_t reg_fields(const struct pmu *pmu, unsigned pmc)
{
	uint64_t bits = pmu->pmcs[pmc].restricts ? ~pmu->pmcs[pmc].rsvd : 0;

	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmu->pmds[d].pmc == pmc)
			bits |= pmu->pmds[d].field;
	return bits;
}

static void reg_set_pmc(struct msr_regs *regs, struct msr_reg *reg, const struct pmu_pmc *pmc)
{
	reg->shared = pmc->shared;
	reg->scope = pmc->scope;
	reg->node = pmc->node ? pmc->wide : 0;
	reg->ovf = pmc->ovf;
	/* A register with separate bits for each thread of a core has two values, one for each. */
	reg->joint = pmc->scope != PMU_SCOPE_THREAD && !pmc->enable && !pmc->second;
	if (!pmc->second)
		return;
	reg->first = pmc->kernel | pmc->user;
	reg->second_by = (unsigned)(__builtin_ctzll(reg->first) - __builtin_ctzll(pmc->second));
	regs->by_thread = true;
}

void msr_regs_init(struct msr_regs *regs, const struct pmu *pmu)
{
	*regs = (struct msr_regs){0};
	if (pmu->global_ctrl) {
		struct msr_reg *reg = reg_add(regs, pmu, pmu->global_ctrl, "the global control");

		reg->ours = reg->writable;
	}
	for (unsigned i = 0; i < pmu->npmcs; i++) {
		struct msr_reg *reg = reg_add(regs, pmu, pmu->pmcs[i].addr, pmu->pmcs[i].name);

		reg_set_pmc(regs, reg, &pmu->pmcs[i]);
		reg->ours = reg->shared ? reg_fields(pmu, i) : UINT64_MAX;
	}
	for (unsigned i = 0; i < pmu->npmds; i++) {
		struct msr_reg *reg = reg_add(regs, pmu, pmu->pmds[i].addr, pmu->pmds[i].name);

		reg->waddr = pmu->pmds[i].waddr;
		reg->counter = true;
		reg->twice = pmu->pmds[i].twice;
		reg->scope = pmu->pmds[i].scope;
		reg->whole = pmu_low_bits(pmu->pmds[i].width);
	}
	for (unsigned i = 0; i < regs->n; i++) {
		struct msr_reg *reg = &regs->reg[i];

		reg->checked = reg->checked || reg->shared || reg->node;
		reg->special = reg->joint || reg->ovf || reg->twice || reg->first;
	}
	if (pmu->inuse)
		reg_add(regs, pmu, pmu->inuse, "the in-use register");
	if (pmu->status) {
		reg_add(regs, pmu, pmu->status, "the overflow status");
		reg_add(regs, pmu, pmu->clear, "the overflow clear register");
	}
	/* These are read-only, because pmu_writable() does not know them. */
	for (unsigned i = 0; i < pmu->nfrees; i++)
		reg_add(regs, pmu, pmu->frees[i].addr, pmu->frees[i].name);
}
