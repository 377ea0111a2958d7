/* SPDX-License-Identifier: MIT */
/* Reports on several runs. */
#ifndef TOOLS_PFM_STAT_STATISTICS_H
#define TOOLS_PFM_STAT_STATISTICS_H

#include "tools/pfm/stat/report.h"
#include "tools/pfm/stat/runs.h"

void statistics_begin(const struct report *r, unsigned runs);

/* Reports mean, deviation, median, range and outliers of each event and metric of @scope, or of the
 * sums if it is NULL. Sorts the values. */
void statistics_report(const struct report *r, const struct scope *scope, const struct runs *runs);

/* Reports the elapsed time. */
void statistics_end(const struct report *r, const struct runs *runs);

#endif
