/* SPDX-License-Identifier: MIT */
/* What this process may have of the machine's counters. */
#ifndef TOOLS_PFM_MACHINE_H
#define TOOLS_PFM_MACHINE_H

#include <stdint.h>

#include "tools/pfm/events/pfm_pmu.h"
#include "tools/pfm/tree/tree.h"

/* The counters, as bits of PMDs, that @pmc selects events for. */
uint64_t machine_counters(const struct pfm_pmu *pmu, unsigned pmc);

/* The counters, as bits of PMDs, that no other software uses on any CPU that has this PMU, as far
 * as MNT/cpus tells. */
uint64_t machine_free_counters(const struct tree *t, const struct pfm_pmu *pmu);

/* The levels at which this process may count, by config/allow_kernel: EVENT_USER, EVENT_KERNEL. */
unsigned machine_levels(const struct tree *t);

#endif
