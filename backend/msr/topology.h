/* SPDX-License-Identifier: MIT */
/* Which CPUs share registers, according to CPUID. */
#ifndef BACKEND_MSR_TOPOLOGY_H
#define BACKEND_MSR_TOPOLOGY_H

#include "backend/msr/msr_io.h"

/*
 * Numbers of the units of each scope that @cpu is in: CPUs with the same number share the registers
 * of that scope. They are meaningful only for comparison. Fails like CPUID.
 */
int topology_of(struct msr_io *io, unsigned cpu, uint32_t unit[PMU_SCOPES], struct err *e);

/* The number of @cpu among the threads of its core. Fails like CPUID. */
int topology_thread(struct msr_io *io, unsigned cpu, unsigned *thread, struct err *e);

#endif
