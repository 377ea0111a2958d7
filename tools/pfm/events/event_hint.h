/* SPDX-License-Identifier: MIT */
/* Advice about perf's event names that pfm does not support. */
#ifndef TOOLS_PFM_EVENTS_EVENT_HINT_H
#define TOOLS_PFM_EVENTS_EVENT_HINT_H

#include "base/slice.h"
#include "tools/pfm/events/pfm_pmu.h"

/* The end of a sentence about @name, which @pmu lacks; NULL: there is no advice. */
const char *event_hint(const struct pfm_pmu *pmu, struct slice name);

#endif
