/* SPDX-License-Identifier: MIT */
/* The report of pfm stat --compare. */
#ifndef TOOLS_PFM_STAT_COMPARISON_H
#define TOOLS_PFM_STAT_COMPARISON_H

#include "tools/pfm/stat/report.h"
#include "tools/pfm/stat/runs.h"

enum { COMPARISON_LABEL = 61 }; /* bytes */

/* Begins the report. @labels name the commands, which have @runs. */
void comparison_begin(struct report *r, char (*labels)[COMPARISON_LABEL], const unsigned runs[2],
	const struct tree *t);
/* Reports each event and metric of r->plan in both commands' runs, its change from the first command
 * to the second, and whether that is significant. Sorts the values. */
void comparison_report(const struct report *r, const struct runs *a, const struct runs *b);
/* Ends the report with the elapsed time. */
void comparison_end(const struct report *r, const struct runs *a, const struct runs *b);

#endif
