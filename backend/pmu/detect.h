/* SPDX-License-Identifier: MIT */
/*
 * Detects the PMU of a CPU from its CPUID leaves, by the models' lines "detect". A model that goes
 * by the vendor's feature leaves alone applies to processors newer than this program, too.
 */
#ifndef BACKEND_PMU_DETECT_H
#define BACKEND_PMU_DETECT_H

#include <stdint.h>

#include "perfmonfs/pmu.h"

/* Access to the CPU under detection. */
struct pmu_cpu {
	int (*cpuid)(void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4], struct err *e);
	int (*rdmsr)(void *arg, uint32_t addr, uint64_t *value); /* Sets no sentence. */
	void *arg;
};

/* ENODEV, and a sentence with a remedy, if the CPU has no known PMU. */
int pmu_detect(const struct pmu_cpu *cpu, struct pmu *out, struct err *e);

/*
 * Keeps those free registers of @pmu that @cpu has, adds those of free.pmu that it has, and finds
 * out the unit of energy. One that cannot be read is left out; so is one of energy that reads 0, as
 * Linux does: some hypervisors answer that.
 */
void pmu_free_detect(const struct pmu_cpu *cpu, struct pmu *pmu);

/* Adds the virtual PMDs that are free registers of a CPU and not there yet. */
void pmu_free_add_virtuals(struct pmu *pmu);

#endif
