/* SPDX-License-Identifier: MIT */
/* A measurement as a row of output for programs: JSON Lines or CSV. */
#ifndef TOOLS_PFM_STAT_ROW_H
#define TOOLS_PFM_STAT_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The version of both: another meaning or order of a field is another version. */
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
};

void row_json(FILE *out, const struct row *r);
/* @regions: rows have a region. */
void row_csv_header(FILE *out, char separator, bool regions);
void row_csv(FILE *out, char separator, const struct row *r);

#endif
