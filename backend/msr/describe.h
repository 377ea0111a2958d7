/* SPDX-License-Identifier: MIT */
/*
 * The PMUs of a machine: the one given with --pmu, or those that its CPUs have. Where CPUs differ,
 * as the cores of a hybrid processor, each is of a type, with a description and registers of its
 * own.
 */
#ifndef BACKEND_MSR_DESCRIBE_H
#define BACKEND_MSR_DESCRIBE_H

#include <stdatomic.h>

#include "backend/msr/msr_io.h"
#include "backend/msr/reg.h"

struct msr_type {
	struct pmu pmu;
	struct msr_regs regs;
};

struct msr_types {
	unsigned n;
	bool detected; /* Not given with --pmu. */
	struct msr_type of[PMU_MAX_TYPES];
	struct pmu_types *shown; /* For contexts; NULL: there is one type. */
	unsigned rows;           /* Registers of the type that has most. */
	unsigned limit;          /* CPUs. */
	atomic_schar *cpu;       /* By CPU: its type; -1: it has not been online yet. */
};

/*
 * Describes the types of all online CPUs. @pmu: name or file of a description for all CPUs; NULL
 * detects them. ENODEV: a CPU has no known PMU, or there are too many types. msr_types_free() frees
 * it in every case.
 */
int msr_types_init(struct msr_types *t, struct msr_io *io, const char *pmu, struct err *e);
void msr_types_free(struct msr_types *t);

/* Finds the type of CPU @cpu, opened as @handle. ENODEV: it is of none. */
int msr_types_find(struct msr_types *t, struct msr_io *io, unsigned cpu, int handle,
	const struct msr_type **out, struct err *e);

/* The type of a CPU as far as it is known; NULL: it is not. */
const struct msr_type *msr_type_of(const struct msr_types *t, unsigned cpu);

#endif
