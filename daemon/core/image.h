/* SPDX-License-Identifier: MIT */
/*
 * What the actual registers have to hold for a set of logical ones. Moving a CPU from one state
 * to another (load, start, stop, a rewritten PMC, a set switch) is the difference between two
 * images.
 */
#ifndef CORE_IMAGE_H
#define CORE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "perfmonfs/pmu.h"

/* Rows of the description, not logical numbers, index everything here. */
struct image {
	uint32_t pmcs, pmds;         /* in use: a bit per row */
	uint32_t spare;              /* PMDs that other sets use: to be claimed, not counting */
	uint64_t sel[PMU_MAX_PMCS];  /* the value of each selector in use */
	uint64_t mask[PMU_MAX_PMCS]; /* the bits of it that are ours */
	uint64_t global;             /* bits of the global control that are on */
	bool running;                /* the counters in use count */
	bool halted;                 /* ... but for those that a failed stop did stop */
};

#define ROW(i) ((uint32_t)1 << (i))

/* The image of logical PMC values @pmc: counting if @running, otherwise standing still. */
void image_of(
	const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], bool running, struct image *im);

/* Has @im keep what @other uses, too: at its default, where @im does not use it itself. */
void image_reserve(const struct pmu *pmu, struct image *im, const struct image *other);

/* Bits of the global control for the counters in @pmds. */
uint64_t image_global_bits(const struct pmu *pmu, uint32_t pmds);

/* The bits of its selector that decide whether counter row @d counts what we told it to. */
uint64_t image_field(const struct pmu *pmu, unsigned d);

#endif
