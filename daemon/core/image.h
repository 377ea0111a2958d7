/* SPDX-License-Identifier: MIT */
/*
 * The values that the hardware registers must hold for a set of logical registers. Load, start, a
 * rewritten PMC and a set switch move a CPU from one image to another by writing the difference
 * between them.
 */
#ifndef CORE_IMAGE_H
#define CORE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "perfmonfs/pmu.h"

/* Rows of the description, not logical numbers, index everything here. */
struct image {
	pmu_rows pmcs, pmds;         /* in use: a bit per row */
	pmu_rows spare;              /* PMDs that only other sets use: reserved, not counting */
	uint64_t sel[PMU_MAX_PMCS];  /* the value of each selector in use */
	uint64_t mask[PMU_MAX_PMCS]; /* the bits of each selector that are in use */
	uint64_t global;             /* bits of the global control that are on */
	bool running;                /* the counters in use count */
	bool halted;                 /* a stop has failed: some counters may still count */
};

#define ROW(i) ((pmu_rows)1 << (i))

/* Executes a statement for each row @i of the set @rows, from the lowest on. The inner loop runs
 * once: it declares @i, and i_left remains set if "break" ends it. */
#define for_each_row(i, rows)                                                                      \
	for (pmu_rows i##_rest = (rows), i##_left = 0; i##_rest && !i##_left;                      \
		i##_rest &= i##_rest - 1)                                                          \
		for (unsigned i = (i##_left = 1, (unsigned)__builtin_ctzll(i##_rest)); i##_left;   \
			i##_left = 0)

/* The image of logical PMC values @pmc: enabled if @running, otherwise disabled. */
void image_of(
	const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], bool running, struct image *im);

/* Adds the registers of @other to @im: at their defaults, unless @im uses them itself. */
void image_reserve(const struct pmu *pmu, struct image *im, const struct image *other);

/* Bits of the global control for the counters in @pmds. */
uint64_t image_global_bits(const struct pmu *pmu, pmu_rows pmds);

/* True if PMC values @pmc make counter row @d count something. */
bool image_counts(const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], unsigned d);

/* The row of the PMC that has the level bits of counter row @d: its selector, or the ESCR that its
 * selector chooses. */
unsigned image_levels_row(const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], unsigned d);

/* The bits of PMC row @p that change only if a program writes it. */
static inline uint64_t image_kept(const struct pmu *pmu, unsigned p)
{
	return ~pmu->pmcs[p].ovf;
}

/* True if, with PMC values @pmc, PMC row @p decides whether counters are restricted. */
bool image_restricts(const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], unsigned p);

/* The bits of its selector that decide what counter row @d counts. */
uint64_t image_field(const struct pmu *pmu, unsigned d);

#endif
