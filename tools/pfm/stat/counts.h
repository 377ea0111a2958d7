/* SPDX-License-Identifier: MIT */
/* What is shown of a reading: a count for each event, and what follows from several counts. */
#ifndef TOOLS_PFM_STAT_COUNTS_H
#define TOOLS_PFM_STAT_COUNTS_H

#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/reading.h"

struct count {
	bool counted;    /* in this run */
	uint64_t value;  /* an estimate for the whole time if @active is below 1 */
	double active;   /* the part of the time in which its event set was active */
	double counted_ns; /* the time that it was counted, on average of places; 0: not known */
	struct err lost; /* no: there is no value, for the reason in its sentence */
};

struct counts {
	struct count all[EVENT_MAX];
	/* As in struct reading. */
	unsigned yielding;
	uint64_t counted_ns, gaps;
};

/* @elapsed_ns: the time of a reading that has no places. */
void counts_of(
	struct counts *c, const struct plan *p, const struct reading *r, uint64_t elapsed_ns);

struct metric {
	const char *name; /* NULL: it is only for people */
	const char *unit; /* NULL: a ratio */
	const char *text; /* behind the number */
	int decimals;     /* of the number in text */
	double value;
};

/*
 * What is derived from @event: a ratio to another event, or else a rate. False: nothing, as of the
 * events of a group, which has metrics of its own.
 */
bool metric_of(struct metric *m, const struct counts *c, const struct plan *p, unsigned event);

/* The value of metric @i of the plan's group; NAN: a count that it needs has none. */
double counts_group_metric(const struct counts *c, const struct plan *p, unsigned i);

/* ns for clocks, otherwise NULL. */
const char *count_unit(const char *event);

#endif
