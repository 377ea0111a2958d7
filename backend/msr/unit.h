/* SPDX-License-Identifier: MIT */
/*
 * Registers of a core, CCX or package, which all of its CPUs share and can access. At most one CPU
 * reserves such a register at a time, so that it is saved, written and restored once. The same goes
 * for a CPU's own register while it selects an event of the package (msr_reg.node), which a counter
 * of the package counts. A register that only selects (joint) may be reserved by several CPUs that
 * write the same value: the last of them restores it.
 */
#ifndef BACKEND_MSR_UNIT_H
#define BACKEND_MSR_UNIT_H

#include <pthread.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "perfmonfs/backend.h"

struct msr_reg;

/* A shared register, and the CPU that has reserved it. */
struct unit_entry {
	struct unit_entry *next;
	uint32_t addr;
	enum pmu_scope scope;
	uint32_t unit; /* See topology_of(). */
	unsigned cpu;
	/* The fields from here on are for joint registers only. */
	bool known;    /* @orig is the value before the first of the CPUs wrote the register. */
	bool written;  /* This CPU has written @value. */
	bool restored; /* This CPU, the last one, is restoring the register. */
	uint64_t orig, value;
};

struct unit_table {
	pthread_mutex_t lock;       /* No lock is taken under it. */
	struct unit_entry *entries; /* A few for each CPU that is monitored; the newest first. */
};

void unit_init(struct unit_table *t);
void unit_free(struct unit_table *t);

/* Takes @reg for @c->cpu unless it already has it. @reg is shared, or is about to select an event
 * of the package. EBUSY: another CPU has reserved @reg; the sentence names it. ENOMEM. */
int unit_take(struct backend_cpu *c, const struct msr_reg *reg, struct err *e);
void unit_drop(struct backend_cpu *c, const struct msr_reg *reg);

/* The value of a joint register before any CPU wrote it. @c->cpu has taken the register and read
 * @value. */
uint64_t unit_original(struct backend_cpu *c, const struct msr_reg *reg, uint64_t value);
/* Call it before a joint register is written. EBUSY: another CPU has written a different value. */
int unit_write(struct backend_cpu *c, const struct msr_reg *reg, uint64_t value, struct err *e);
/* Call it before a joint register is restored. False: do not restore it, because another CPU has
 * reserved it, too; this CPU's reservation has ended. */
bool unit_restores(struct backend_cpu *c, const struct msr_reg *reg);

/* Finds the other CPU that has reserved the register @reg, which it shares with @cpu; false: there
 * is none. */
bool unit_owner(struct backend *be, unsigned cpu, const struct msr_reg *reg, unsigned *owner);

#endif
