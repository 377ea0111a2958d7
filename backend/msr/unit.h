/* SPDX-License-Identifier: MIT */
/*
 * Registers that several CPUs share: at most one CPU of a core, CCX or package has reserved one, so
 * that it is saved, written and restored once. Any CPU of them reaches it.
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
};

struct unit_table {
	pthread_mutex_t lock;       /* No lock is taken under it. */
	struct unit_entry *entries; /* A few for each CPU that is monitored. */
};

void unit_init(struct unit_table *t);
void unit_free(struct unit_table *t);

/* For @c->cpu. EBUSY: another CPU has reserved @reg; the sentence names it. ENOMEM. */
int unit_take(struct backend_cpu *c, const struct msr_reg *reg, struct err *e);
void unit_drop(struct backend_cpu *c, const struct msr_reg *reg);

/* The other CPU that has reserved the shared register @reg of @cpu; false: none. */
bool unit_owner(struct backend *be, unsigned cpu, const struct msr_reg *reg, unsigned *owner);

#endif
