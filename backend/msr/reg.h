/* SPDX-License-Identifier: MIT */
/*
 * The actual registers of a description, each a row with all that an access has to know, and a
 * hash from address to row: nothing is searched between the accesses of a plan.
 *
 * Rows stand in the order in which registers are put back: the global control stops all, then
 * selectors, then counters.
 */
#ifndef BACKEND_MSR_REG_H
#define BACKEND_MSR_REG_H

#include <stdbool.h>
#include <stdint.h>

#include "perfmonfs/pmu.h"

enum {
	MSR_MAX_REGS = PMU_MAX_PMCS + PMU_MAX_PMDS + 4,
	MSR_HASH = 1024, /* the PMU registers of x86 differ in their low ten bits */
};

struct msr_reg {
	uint32_t addr;
	uint32_t waddr;
	uint64_t writable; /* the bits that may be set */
	uint64_t ours;     /* the bits that an update may change: some of a shared selector, all of
			      another, none of a counter */
	uint64_t enable;
	bool counter;   /* written as a whole, within writable */
	uint64_t whole; /* a counter's bits, of which a write may not be able to set all */
	bool shared;    /* has other users' bits: never written as a whole */
	const char *name;
};

struct msr_regs {
	unsigned n;
	struct msr_reg reg[MSR_MAX_REGS];
	const struct msr_reg *at[MSR_HASH]; /* collisions go to the next place */
};

/* @pmu must be valid and stay: the rows point to its names. */
void msr_regs_init(struct msr_regs *regs, const struct pmu *pmu);

/* NULL if @addr is none of the PMU's. */
static inline const struct msr_reg *msr_regs_find(const struct msr_regs *regs, uint32_t addr)
{
	const struct msr_reg *reg;

	for (uint32_t at = addr; (reg = regs->at[at % MSR_HASH]) && reg->addr != addr; at++)
		;
	return reg;
}

#endif
