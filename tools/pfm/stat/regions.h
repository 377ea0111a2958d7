/* SPDX-License-Identifier: MIT */
/* Counts of the regions of a program, which its threads count themselves: pfm_region_begin(3). */
#ifndef TOOLS_PFM_STAT_REGIONS_H
#define TOOLS_PFM_STAT_REGIONS_H

#include <stdint.h>

#include "base/err.h"
#include "perfmonfs/region_table.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/reading.h"
#include "tools/pfm/tree/tree.h"

struct regions {
	int fd;
	struct pfm_region_table *table; /* shared with the program */
};

#define REGIONS_NONE                                                                               \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Makes the table, of which programs learn that this process starts. */
int regions_open(struct regions *r, const struct tree *t, const struct plan *plan, struct err *e);
void regions_close(struct regions *r);

/* A region, summed over all threads. */
struct region_sum {
	char name[PFM_REGION_NAME]; /* clean */
	uint64_t calls;
	uint64_t unended; /* calls that have not ended, and are not counted */
	uint64_t time_ns;
	struct reading counts;
};

struct region_sums {
	struct region_sum *all; /* in the order in which they were found */
	unsigned n;
	struct err failure; /* no: that of a thread that could not be counted */
};

int regions_sum(
	const struct regions *r, const struct plan *plan, struct region_sums *sums, struct err *e);
void regions_free(struct region_sums *sums);

#endif
