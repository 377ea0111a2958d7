/* SPDX-License-Identifier: MIT */
/*
 * The originals of the registers that were claimed on a CPU. A claim holds until its bits are
 * released or forgotten, and the journal has it before the register is written for the first
 * time.
 */
#ifndef BACKEND_MSR_CLAIM_H
#define BACKEND_MSR_CLAIM_H

#include <stdint.h>

#include "base/err.h"
#include "perfmonfs/backend.h"

struct msr_reg;

struct claim {
	uint64_t orig; /* the bits under mask as they were found */
	uint64_t mask; /* 0: not claimed */
};

/* The verbs REG_CLAIM, REG_RELEASE and REG_FORGET. */
int claim_take(struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, struct err *e);
int claim_release(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask, struct err *e);
void claim_forget(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask);

/* Releases all in the order of rows; what cannot be put back is reported on stderr. */
void claim_release_all(struct backend_cpu *c);

/*
 * Gives the bits of @reg under @mask the values in @orig, except that nothing is enabled by it.
 * -errno without a sentence.
 */
int claim_put_back(struct backend_cpu *c, const struct msr_reg *reg, uint64_t orig, uint64_t mask);

#endif
