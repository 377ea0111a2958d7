/* SPDX-License-Identifier: MIT */
/* The PMU of an open tree, with the events that have names there. */
#ifndef TOOLS_PFM_MACHINE_H
#define TOOLS_PFM_MACHINE_H

#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/events/pfm_pmu.h"
#include "tools/pfm/tree/tree.h"

/* Reads the files of pmu/, and the event files of this machine. pfm_pmu_free() frees it. */
int machine_pmu(const struct tree *t, struct pfm_pmu *pmu, struct err *e);

/* The counters, as bits of PMDs, that no other software uses on any CPU as far as MNT/cpus tells.
 */
uint64_t machine_free_counters(const struct tree *t, const struct pfm_pmu *pmu);

/* The levels at which this process may count, by config/allow_kernel: EVENT_USER, EVENT_KERNEL. */
unsigned machine_levels(const struct tree *t);

#endif
