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

struct journal;
struct journal_entry;
struct msr_backend;
struct msr_reg;

struct reservation {
	uint64_t orig; /* Original value of the bits under mask; 0 elsewhere. */
	uint64_t mask; /* Reserved bits; 0: the register is not reserved. */
};

/* Execute REG_RESERVE, REG_RELEASE and REG_FORGET. Bits that an earlier context has left unrestored
 * are restored before they are reserved again, and not given up. */
int reserve_take(
	struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, struct err *e);
int reserve_release(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask, struct err *e);
void reserve_give_up(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask);

/* Ends the reservation of bits that have been restored or belong to another program. */
void reserve_forget(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask);

/*
 * Releases all registers in the order of rows. Failures are reported, except -EPERM, which is
 * returned with a sentence: the device refuses writes, and would refuse all others, too.
 */
int reserve_release_all(struct backend_cpu *c, struct err *e);

/* Reports a register that could not be restored, on stderr and to syslog. */
void reserve_report(const struct err *e);

/* Writes @entry, which describes row @row of its CPU, into @j. */
int reserve_put(struct journal *j, const struct msr_backend *mb, unsigned row,
	const struct journal_entry *entry, struct err *e);
/* Writes the record of row @row of the CPU into the backend's journal, if there is one.
 * @unrestored: restoring it was tried. */
int reserve_log(struct backend_cpu *c, unsigned row, const struct reservation *r, bool unrestored,
	struct err *e);

#endif
