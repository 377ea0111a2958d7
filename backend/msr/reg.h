/* SPDX-License-Identifier: MIT */
/*
 * The actual registers of a description: a row for each, with everything that an access needs, and
 * a hash from address to row, because a plan's accesses must follow each other quickly.
 *
 * Rows are in the order in which registers are restored: first the global control, which stops all
 * counters, then selectors, then counters.
 */
#ifndef BACKEND_MSR_REG_H
#define BACKEND_MSR_REG_H

#include <stdbool.h>
#include <stdint.h>

#include "perfmonfs/pmu.h"

enum {
	MSR_MAX_REGS = PMU_MAX_PMCS + PMU_MAX_PMDS + 4 + PMU_MAX_FREES,
	MSR_HASH = 1024, /* PMU registers of x86 differ in their low ten bits. */
};

struct msr_reg {
	uint32_t addr;
	uint32_t waddr;
	uint64_t writable; /* Bits that may be set. */
	/* Bits that an update may change: some bits of a shared selector, all bits of any other
	 * selector, no bits of a counter. */
	uint64_t ours;
	uint64_t enable; /* Bits that start counters; they are cleared when restored. */
	bool counter;    /* A counter, which is only written as a whole. */
	uint64_t whole;  /* All bits of a counter; writable may have fewer. */
	/* The register has bits of other users, so it is only updated, never written as a whole. */
	bool shared;
	enum pmu_scope scope;
	/* A value with all of these bits selects an event of the package; 0: none does. */
	uint64_t node;
	/* Only selects, for all CPUs of the scope, which may reserve it together if they write the
	 * same value. */
	bool joint;
	uint64_t ovf; /* See struct pmu_pmc. */
	bool twice;   /* See struct pmu_pmd. */
	/* Bits of the first thread of a core, and how many positions lower the bits of the second
	 * thread are. */
	uint64_t first;
	unsigned second_by;
	/* shared, node or not writable: a write of the whole register is checked first. */
	bool checked;
	/* joint, ovf, twice or first: an access is more than one plain read or write. */
	bool special;
	const char *name;
};

struct msr_regs {
	unsigned n;
	bool by_thread; /* A register has separate bits for the threads of a core. */
	struct msr_reg reg[MSR_MAX_REGS];
	/* Open addressing: on a collision, the next slot is used. */
	const struct msr_reg *at[MSR_HASH];
};

/* @pmu must be valid and outlive @regs, whose rows point to its names. */
void msr_regs_init(struct msr_regs *regs, const struct pmu *pmu);

/* NULL if @addr is not a register of the PMU. */
static inline const struct msr_reg *msr_regs_find(const struct msr_regs *regs, uint32_t addr)
{
	const struct msr_reg *reg;

	for (uint32_t at = addr; (reg = regs->at[at % MSR_HASH]) && reg->addr != addr; at++)
		;
	return reg;
}

#endif
