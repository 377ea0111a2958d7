/* SPDX-License-Identifier: MIT */
/*
 * Which PMU a CPU has, by its feature leaves and never by lists of models: a CPU newer than this
 * program is described right as long as its vendor keeps to the leaves.
 */
#ifndef BACKEND_PMU_DETECT_H
#define BACKEND_PMU_DETECT_H

#include <stdint.h>

#include "perfmonfs/pmu.h"

/* What detection asks of one CPU. */
struct pmu_cpu {
	int (*cpuid)(void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4], struct err *e);
	int (*rdmsr)(void *arg, uint32_t addr, uint64_t *value); /* no sentence */
	void *arg;
};

/* ENODEV and a sentence with a remedy if the CPU has no PMU this program knows. */
int pmu_detect(const struct pmu_cpu *cpu, struct pmu *out, struct err *e);

/*
 * Leaves in @acc what @other has as well: on a hybrid machine one description must hold on every
 * CPU. ENODEV if they are of different families.
 */
int pmu_common(struct pmu *acc, const struct pmu *other, struct err *e);

/* Whether everything @desc describes is on a CPU with @cpu: ENODEV and a sentence if not. */
int pmu_covers(const struct pmu *cpu, const struct pmu *desc, struct err *e);

#endif
