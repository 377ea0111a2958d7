/* SPDX-License-Identifier: MIT */
/* Counts as text for people, or as rows for programs. */
#ifndef TOOLS_PFM_STAT_REPORT_H
#define TOOLS_PFM_STAT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "tools/pfm/stat/counts.h"
#include "tools/pfm/stat/places.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/regions.h"
#include "tools/pfm/stat/row.h"

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV };

struct report {
	FILE *out;
	enum report_format format;
	char separator;          /* of CSV */
	bool intervals;          /* lines begin with the time */
	bool regions;            /* report_region() alone is called */
	bool topology;           /* rows are of cores or sockets */
	bool statistics;         /* rows of them will follow */
	const char *region;      /* that of the rows */
	const struct plan *plan; /* that of the counts which come next */
	unsigned run;            /* from 1 on */
	bool lost;               /* a count of any report was */
};

/* The lines before all counts. @what is counted: a command, or places. */
void report_header(struct report *r, const char *what, const struct tree *t);

/* The counts of @scope, or the sums if it is NULL. */
void report_counts(
	struct report *r, const struct scope *scope, const struct counts *c, uint64_t time_ns);

/* The counts of a region, and how often the program was in it. */
void report_region(struct report *r, const struct region_sum *region, uint64_t time_ns);

/* The times of a command; without @usage, only the time that passed. */
void report_times(struct report *r, uint64_t elapsed_ns, const struct rusage *usage);

/* The parts of which other reports are made, too. */
const char *report_level(unsigned level);
/* The reasons of lost counts, each once; those without an errno are none. */
void report_reasons(const struct report *r, const struct err *const lost[], unsigned n);
/* Its name before a line of text, whose columns are returned, and its numbers in a row. */
int report_scope(const struct report *r, const struct scope *scope);
void report_row_scope(struct row *row, const struct scope *scope);
/* A row of JSON or CSV. */
void report_row(const struct report *r, const struct row *row);

#endif
