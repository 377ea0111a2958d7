/* SPDX-License-Identifier: MIT */
/* The report of pfm stat --compare. */
#ifndef TOOLS_PFM_STAT_COMPARISON_H
#define TOOLS_PFM_STAT_COMPARISON_H

#include "tools/pfm/stat/report.h"
#include "tools/pfm/stat/runs.h"

enum { COMPARISON_LABEL = 61 }; /* bytes */

/* Reports each event and metric of both commands' runs, its change from the first command to the
 * second, and whether that is significant. @labels name the commands. Sorts the values. */
void comparison_report(struct report *r, char (*labels)[COMPARISON_LABEL], const struct runs *a,
	const struct runs *b, const struct tree *t);

#endif
