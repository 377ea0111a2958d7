/* SPDX-License-Identifier: MIT */
/*
 * Reserved registers of a CPU and their original values. A reservation lasts until its bits are
 * released or forgotten. It is in the journal before the register is written for the first time.
 */
#ifndef BACKEND_MSR_RESERVE_H
#define BACKEND_MSR_RESERVE_H

#include <stdint.h>

#include "base/err.h"
#include "perfmonfs/backend.h"

struct msr_reg;

struct reservation {
	uint64_t orig; /* Original value of the bits under mask; 0 elsewhere. */
	uint64_t mask; /* Reserved bits; 0: the register is not reserved. */
};

/* REG_RESERVE, REG_RELEASE and REG_FORGET. */
int reserve_take(
	struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, struct err *e);
int reserve_release(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask, struct err *e);
void reserve_forget(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask);

/* Releases all registers in the order of rows; failures are reported on stderr and to syslog. */
void reserve_release_all(struct backend_cpu *c);

/*
 * Sets the bits of @reg under @mask to those of @orig, except enable bits, which are cleared.
 * Returns -errno without a sentence.
 */
int reserve_restore(struct backend_cpu *c, const struct msr_reg *reg, uint64_t orig, uint64_t mask);

#endif
