/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_PFM_EVENTS_CPUINFO_H
#define TOOLS_PFM_EVENTS_CPUINFO_H

#include "base/slice.h"
#include "tools/pfm/events/pfm_pmu.h"

/* Parses the first processor in @text, the contents of /proc/cpuinfo. */
struct pfm_cpu cpuinfo_parse(struct slice text);

#endif
