/* SPDX-License-Identifier: MIT */
/* The description of a machine's PMU: the one given with --pmu, or what all CPUs have. */
#ifndef BACKEND_MSR_DESCRIBE_H
#define BACKEND_MSR_DESCRIBE_H

#include "backend/msr/msr_io.h"

/* @pmu: name or file of a description; NULL detects one that applies to all online CPUs. */
int msr_describe(struct msr_io *io, const char *pmu, struct pmu *out, struct err *e);

/* The PMU of CPU @cpu, opened as @handle. */
int msr_describe_cpu(struct msr_io *io, unsigned cpu, int handle, struct pmu *out, struct err *e);

#endif
