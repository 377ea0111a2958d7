/* SPDX-License-Identifier: MIT */
/*
 * Registers that several CPUs share, and that any CPU of them reaches: those of a core, CCX or
 * package. At most one CPU of these has reserved one, so that it is saved, written and restored
 * once. So it is with a CPU's own register while it selects an event of the package (msr_reg.node),
 * which a counter of the package counts. A register that only selects may be reserved by several
 * CPUs that write the same value: the last one restores it.
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
	/* Of a joint register. */
	bool known;    /* @orig is what it had before the first of the CPUs wrote it. */
	bool written;  /* This CPU has written @value. */
	bool restored; /* This CPU, the last one, restores it now. */
	uint64_t orig, value;
};

struct unit_table {
	pthread_mutex_t lock;       /* No lock is taken under it. */
	struct unit_entry *entries; /* A few for each CPU that is monitored; the newest first. */
};

void unit_init(struct unit_table *t);
void unit_free(struct unit_table *t);

/* For @c->cpu, if it has not got it: @reg is shared, or is to select an event of the package.
 * EBUSY: another CPU has reserved @reg; the sentence names it. ENOMEM. */
int unit_take(struct backend_cpu *c, const struct msr_reg *reg, struct err *e);
void unit_drop(struct backend_cpu *c, const struct msr_reg *reg);

/* Of a joint register that @c->cpu has taken, then read as @value: its value before all CPUs'
 * writes. */
uint64_t unit_original(struct backend_cpu *c, const struct msr_reg *reg, uint64_t value);
/* Before a joint register is written. EBUSY: another CPU has written another value. */
int unit_write(struct backend_cpu *c, const struct msr_reg *reg, uint64_t value, struct err *e);
/* Before it is restored. False: another CPU has reserved it, too, and this one has not any more. */
bool unit_restores(struct backend_cpu *c, const struct msr_reg *reg);

/* The other CPU that has reserved the shared register @reg of @cpu; false: none. */
bool unit_owner(struct backend *be, unsigned cpu, const struct msr_reg *reg, unsigned *owner);

#endif
