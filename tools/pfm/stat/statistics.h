/* SPDX-License-Identifier: MIT */
/* Reports on several runs. */
#ifndef TOOLS_PFM_STAT_STATISTICS_H
#define TOOLS_PFM_STAT_STATISTICS_H

#include "tools/pfm/stat/report.h"
#include "tools/pfm/stat/runs.h"

/* Mean, deviation, median, range and outliers of each event and metric. Sorts the values. */
void statistics_report(const struct report *r, const struct runs *runs);

#endif
