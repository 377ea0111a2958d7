// SPDX-License-Identifier: MIT
/* From a description to rows. */
#include "backend/msr/reg.h"

static struct msr_reg *add(
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
	return reg;
}

void msr_regs_init(struct msr_regs *regs, const struct pmu *pmu)
{
	*regs = (struct msr_regs){0};
	if (pmu->global_ctrl)
		add(regs, pmu, pmu->global_ctrl, "the global control");
	for (unsigned i = 0; i < pmu->npmcs; i++)
		add(regs, pmu, pmu->pmcs[i].addr, pmu->pmcs[i].name)->shared = pmu->pmcs[i].shared;
	for (unsigned i = 0; i < pmu->npmds; i++) {
		struct msr_reg *reg = add(regs, pmu, pmu->pmds[i].addr, pmu->pmds[i].name);

		reg->waddr = pmu->pmds[i].waddr;
		reg->counter = true;
	}
	if (pmu->inuse)
		add(regs, pmu, pmu->inuse, "the in-use register");
}
