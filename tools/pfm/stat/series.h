/* SPDX-License-Identifier: MIT */
/* The values of one event or metric in all runs. */
#ifndef TOOLS_PFM_STAT_SERIES_H
#define TOOLS_PFM_STAT_SERIES_H

#include "base/err.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/runs.h"
#include "tools/pfm/text/digits.h"

struct series {
	char label[PLAN_LABEL]; /* room for @event or @metric */
	const char *event;      /* NULL: a metric */
	const char *metric;
	const char *unit; /* NULL: none */
	unsigned level;   /* of an event, EVENT_USER and EVENT_KERNEL */
	double *values;   /* one for each run */
	unsigned n;
	const struct err *lost; /* why a run has no value; NULL: all runs have one */
	/* For people: values are multiplied by @scale and shown in @shown_unit, with @decimals
	 * decimals. */
	double scale;
	int decimals; /* -1: as many as needed, for numbers that may be integers */
	const char *shown_unit;
};

/* The number of series: the events, the metrics of the group, and the elapsed time. */
unsigned series_count(const struct plan *p);

/* Formats @v, a value of the series, for people. */
const char *series_number(char room[DIGITS_ROOM], const struct series *s, double v);

void series_get(struct series *s, const struct runs *runs, const struct plan *p, unsigned i);

#endif
