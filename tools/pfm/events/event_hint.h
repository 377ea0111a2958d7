/* SPDX-License-Identifier: MIT */
/* What to do about names of perf's that pfm does not count by. */
#ifndef TOOLS_PFM_EVENTS_EVENT_HINT_H
#define TOOLS_PFM_EVENTS_EVENT_HINT_H

#include "base/slice.h"
#include "tools/pfm/events/pfm_pmu.h"

/* The end of a sentence about @name, which @pmu lacks; NULL: nothing is known of it. */
const char *event_hint(const struct pfm_pmu *pmu, struct slice name);

#endif
