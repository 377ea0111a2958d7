/* SPDX-License-Identifier: MIT */
/*
 * Detects the PMU of a CPU from its CPUID leaves, by the models' lines "detect". A model that
 * relies only on the vendor's feature leaves also applies to processors newer than this program.
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

/*
 * Keeps the free-running registers of @pmu that @cpu has, adds the ones in free.pmu that it has,
 * and finds out the unit of energy. Registers that cannot be read are left out; so are energy
 * registers that read 0, as in Linux, because some hypervisors return that.
 */
void pmu_free_detect(const struct pmu_cpu *cpu, struct pmu *pmu);

/* Adds the virtual PMDs of a CPU's free-running registers that @pmu does not have yet. */
void pmu_free_add_virtuals(struct pmu *pmu);

#endif
