/* SPDX-License-Identifier: MIT */
/*
 * The PMUs of a machine: the one given with --pmu, or the ones that its CPUs have. If CPUs differ,
 * like the cores of a hybrid processor, each CPU is of a type, which has its own description and
 * registers.
 */
#ifndef BACKEND_MSR_DESCRIBE_H
#define BACKEND_MSR_DESCRIBE_H

#include <stdatomic.h>

#include "backend/msr/msr_io.h"
#include "backend/msr/reg.h"
#include "backend/pmu/model.h"

struct msr_type {
	struct pmu pmu;
	struct pmu_detected detected; /* The first CPU of this type, unless --pmu was given. */
	struct msr_regs regs;
};

struct msr_types {
	unsigned n;
	bool detected; /* No PMU was given with --pmu. */
	struct msr_type of[PMU_MAX_TYPES];
	struct pmu_types *shown; /* The PMUs as contexts see them; NULL: there is one type. */
	unsigned rows;           /* Rows of registers: the maximum over all types. */
	unsigned limit;          /* Elements of @cpu. */
	atomic_schar *cpu;       /* The type of each CPU; -1: it has not been online yet. */
};

/*
 * Describes the types of all online CPUs. @pmu: name or file of a description for all CPUs; NULL
 * detects them. ENODEV: a CPU has no known PMU, or there are too many types. Call msr_types_free()
 * in every case.
 */
int msr_types_init(struct msr_types *t, struct msr_io *io, const char *pmu, struct err *e);
void msr_types_free(struct msr_types *t);

/* Finds the type of CPU @cpu, which is open as @handle. ENODEV: no type fits. */
int msr_types_find(struct msr_types *t, struct msr_io *io, unsigned cpu, int handle,
	const struct msr_type **out, struct err *e);

/* The type of a CPU; NULL: it is not known yet. */
const struct msr_type *msr_type_of(const struct msr_types *t, unsigned cpu);

#endif
