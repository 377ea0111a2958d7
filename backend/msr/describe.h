/* SPDX-License-Identifier: MIT */
/* The description of a machine's PMU: as the user said, or what all its CPUs have. */
#ifndef BACKEND_MSR_DESCRIBE_H
#define BACKEND_MSR_DESCRIBE_H

#include "backend/msr/msr_io.h"

/* @pmu: name or file of a description, NULL to detect one that holds on every online CPU. */
int msr_describe(struct msr_io *io, const char *pmu, struct pmu *out, struct err *e);

/* The PMU of CPU @cpu, opened as @handle. */
int msr_describe_cpu(struct msr_io *io, unsigned cpu, int handle, struct pmu *out, struct err *e);

#endif
