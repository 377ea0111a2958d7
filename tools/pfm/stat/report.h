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

/* Whether counts have gaps, and which time is reported with the gaps. */
enum report_gaps { REPORT_NO_GAPS, REPORT_COUNTED, REPORT_UNCERTAIN };

struct report {
	FILE *out;
	enum report_format format;
	char separator;  /* of CSV */
	bool intervals;  /* lines begin with the time */
	bool regions;    /* only report_region() is called */
	bool topology;   /* rows are of cores or sockets */
	bool statistics; /* rows of statistics will follow */
	enum report_gaps gaps;
	const char *region;      /* the region of the rows */
	const struct plan *plan; /* the plan of the counts that come next */
	unsigned run;            /* from 1 on */
	bool lost;               /* a count of any report was lost */
};

/* Prints the lines before all counts. @what is counted: a command, or places. */
void report_header(struct report *r, const char *what, const struct tree *t);

/* Reports the counts of @scope, or the sums if it is NULL. */
void report_counts(
	struct report *r, const struct scope *scope, const struct counts *c, uint64_t time_ns);

/* Reports the counts of a region, and how often the program entered it. */
void report_region(struct report *r, const struct region_sum *region, uint64_t time_ns);

/* Reports the times of a command; without @usage, only the elapsed time. */
void report_times(struct report *r, uint64_t elapsed_ns, const struct rusage *usage);

/* Parts that other reports use, too. */
const char *report_level(unsigned level);
/* Prints the reasons of lost counts, each once. NULL: a count is not lost. */
void report_reasons(const struct report *r, const struct err *const lost[], unsigned n);
/* Prints the label of @scope before a line of text, and returns its number of columns. */
int report_scope(const struct report *r, const struct scope *scope);
void report_row_scope(struct row *row, const struct scope *scope);
/* Prints a row of JSON or CSV. */
void report_row(const struct report *r, const struct row *row);

#endif
