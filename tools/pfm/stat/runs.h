/* SPDX-License-Identifier: MIT */
/* Repeated measurements: all values of each event. */
#ifndef TOOLS_PFM_STAT_RUNS_H
#define TOOLS_PFM_STAT_RUNS_H

#include "base/err.h"
#include "tools/pfm/stat/counts.h"
#include "tools/pfm/stat/plan.h"

struct runs {
	double *values[EVENT_MAX];
	/* why a run's value was lost, which leaves no statistics; NULL: none was */
	const struct err *lost[EVENT_MAX];
	double *metrics[GROUP_METRICS]; /* of the plan's group; NAN: a run has no value */
	double *elapsed_s;
	unsigned n, room;
};

/* Makes room for @room runs. -ENOMEM. */
int runs_init(struct runs *r, unsigned room, struct err *e);
void runs_free(struct runs *r);

void runs_add(struct runs *r, const struct plan *p, const struct counts *c, uint64_t elapsed_ns);

#endif
