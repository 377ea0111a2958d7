/* SPDX-License-Identifier: MIT */
/* Counts of a program's regions, which its threads count themselves: pfm_region_begin(3). */
#ifndef TOOLS_PFM_STAT_REGIONS_H
#define TOOLS_PFM_STAT_REGIONS_H

#include <stdbool.h>
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

/* Makes the table, and announces it in the environment of programs that this process starts. */
int regions_open(struct regions *r, const struct tree *t, const struct plan *plan, struct err *e);
void regions_close(struct regions *r);

/* A region of a thread. */
struct region_entry {
	char name[PFM_REGION_NAME]; /* as written by the program */
	const struct pfm_region *region;
	uint32_t nr;    /* index in the list, in the order of the table */
	uint32_t first; /* nr of the first region with that name */
};

/* The regions of all threads. Regions with the same name follow each other. */
struct region_list {
	struct region_entry *all;
	unsigned n;
	unsigned taken;     /* how many regions_next() has consumed */
	struct err failure; /* why a thread could not be counted; failure.no is 0 if all were */
};

/* A region, summed over all threads. */
struct region_sum {
	char name[PFM_REGION_NAME];
	uint64_t calls;
	uint64_t unended; /* calls that have not ended; they are not counted */
	uint64_t time_ns;
	struct reading counts;
};

int regions_list(const struct regions *r, struct region_list *list, struct err *e);
/* Sums the next region, in the order in which regions were found. False: there are no more. */
bool regions_next(struct region_list *list, const struct plan *plan, struct region_sum *sum);
void regions_free(struct region_list *list);

#endif
