/* SPDX-License-Identifier: MIT */
/* What this process may have of the machine's counters. */
#ifndef TOOLS_PFM_MACHINE_H
#define TOOLS_PFM_MACHINE_H

#include <stdint.h>

#include "tools/pfm/events/pfm_pmu.h"
#include "tools/pfm/tree/tree.h"

/* The counters, as bits, that @pmc selects events for. */
uint64_t machine_counters(const struct pfm_pmu *pmu, unsigned pmc);

/* The counters, as bits, that no other software uses on any CPU that has this PMU, as far
 * as MNT/cpus tells. */
uint64_t machine_free_counters(const struct tree *t, const struct pfm_pmu *pmu);

/*
 * Text about the first program that has one of @counters on a CPU with this PMU: "PMC 0 of CPU 1 is
 * in use by another program". Returns @room, or NULL: MNT/cpus tells of none.
 */
enum { MACHINE_USER_ROOM = 96 };
const char *machine_user(const struct tree *t, const struct pfm_pmu *pmu, uint64_t counters,
	char room[MACHINE_USER_ROOM]);

/* The levels at which this process may count, by config/allow_kernel or, for a daemon of the user,
 * by the kernel: EVENT_USER, EVENT_KERNEL. */
unsigned machine_levels(const struct tree *t);

#endif
