/* SPDX-License-Identifier: MIT */
/* The results of a reading: a count for each event, and metrics computed from several counts. */
#ifndef TOOLS_PFM_STAT_COUNTS_H
#define TOOLS_PFM_STAT_COUNTS_H

#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/reading.h"

struct count {
	bool counted;      /* in this run */
	uint64_t value;    /* an estimate for the whole time if @active is below 1 */
	double active;     /* the part of the time in which its event set was active */
	double counted_ns; /* the time counted, averaged over places; 0: not known */
	const struct err
		*lost; /* why there is no value, as in struct reading; NULL: there is one */
};

struct counts {
	struct count all[EVENT_MAX];
	/* As in struct reading. */
	uint64_t counted_ns, gaps, uncertain_ns;
};

/* Computes the counts of a reading. @elapsed_ns: the time of a reading that has no places. */
void counts_of(
	struct counts *c, const struct plan *p, const struct reading *r, uint64_t elapsed_ns);

struct metric {
	const char *name; /* NULL: shown in text output only */
	const char *unit; /* NULL: a ratio */
	const char *text; /* text printed after the number */
	int decimals;     /* decimals of the number in text output */
	double value;
};

/* Computes the metric of @event: a ratio to another event, or else a rate. Returns false if there
 * is none, as for the events of a group, which has metrics of its own. */
bool metric_of(struct metric *m, const struct counts *c, const struct plan *p, unsigned event);

/* The value of metric @i of the plan's group; NAN if a count that it needs has no value. */
double counts_group_metric(const struct counts *c, const struct plan *p, unsigned i);

/* The unit of an event: ns for clocks, otherwise NULL. */
const char *count_unit(const char *event);

#endif
