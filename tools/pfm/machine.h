/* SPDX-License-Identifier: MIT */
/* The machine's counters that this process may use. */
#ifndef TOOLS_PFM_MACHINE_H
#define TOOLS_PFM_MACHINE_H

#include <stdint.h>

#include "tools/pfm/events/pfm_pmu.h"
#include "tools/pfm/tree/tree.h"

/* The counters, as bits, that @pmc selects events for. */
uint64_t machine_counters(const struct pfm_pmu *pmu, unsigned pmc);

/* The counters, as bits, that no other software uses on any CPU with this PMU, according to
 * MNT/cpus. */
uint64_t machine_free_counters(const struct tree *t, const struct pfm_pmu *pmu);

/* A text about the first program that has one of @counters on a CPU with this PMU: "PMC 0 of CPU 1
 * is in use by another program". Returns @room, or NULL: MNT/cpus shows none. */
enum { MACHINE_USER_ROOM = 96 };
const char *machine_user(const struct tree *t, const struct pfm_pmu *pmu, uint64_t counters,
	char room[MACHINE_USER_ROOM]);

/* The levels at which this process may count, EVENT_USER and EVENT_KERNEL: according to
 * config/allow_kernel, or for a daemon of the user, according to the kernel. */
unsigned machine_levels(const struct tree *t);

#endif
