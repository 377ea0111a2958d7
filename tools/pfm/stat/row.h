/* SPDX-License-Identifier: MIT */
/* A measurement as a row of output for programs: JSON Lines or CSV. */
#ifndef TOOLS_PFM_STAT_ROW_H
#define TOOLS_PFM_STAT_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/pfm/text/summary.h"

/* The version of both formats. It changes with the meaning or order of a field. */
#define ROW_SCHEMA 1

struct row {
	const char *event; /* or else a metric */
	const char *metric;
	uint64_t value;     /* of an event */
	double number;      /* of a metric */
	const char *unit;   /* NULL: none */
	unsigned level;     /* of an event, EVENT_USER and EVENT_KERNEL */
	double active;      /* below 1, the value is an estimate */
	int cpu, tid;       /* -1: a sum */
	const char *lost;   /* the reason why there is no value, or NULL */
	uint64_t time_ns;   /* since the start of this run */
	unsigned run;       /* from 1 on */
	const char *region; /* NULL: the row has no such field */
	int core, socket;   /* -1: none; JSON has these fields only if there is a socket */
	/* The row has statistics of @runs runs instead of one run's value at a point in time. */
	bool statistics;
	unsigned runs;
	struct summary summary;
};

/* Columns of CSV after those that are always present, as bits. */
enum row_columns { ROW_REGION = 1, ROW_TOPOLOGY = 2, ROW_STATISTICS = 4 };

void row_json(FILE *out, const struct row *r);
void row_csv_header(FILE *out, char separator, unsigned columns);
void row_csv(FILE *out, char separator, unsigned columns, const struct row *r);

/* An event or metric, compared between two commands. */
struct row_comparison {
	const char *event; /* or else a metric */
	const char *metric;
	const char *unit; /* NULL: none */
	unsigned level;   /* of an event */
	const char *lost; /* why the following fields have no values, or NULL */
	unsigned runs[2];
	struct summary summaries[2];
	double change; /* of the mean, in percent; not finite if the first mean is 0 */
	double p;      /* probability that chance alone makes such a difference */
	bool significant;
};

void row_json_comparison(FILE *out, const struct row_comparison *c);
void row_csv_comparison_header(FILE *out, char separator);
void row_csv_comparison(FILE *out, char separator, const struct row_comparison *c);

#endif
