/* SPDX-License-Identifier: MIT */
/*
 * The kernel's events with which a thread counts itself while it is in regions. Reading them is one
 * system call, while a context is read through the daemon.
 */
#ifndef PERFMONFS_LIB_REGION_EVENTS_H
#define PERFMONFS_LIB_REGION_EVENTS_H

#include <stdint.h>

#include "perfmonfs/region_table.h"

struct region_events {
	uint32_t n; /* 0: there are none */
	int fds[PFM_REGION_PMDS];
	uint64_t ids[PFM_REGION_PMDS]; /* the kernel's numbers of the events */
};

/* Opens t->events on the calling thread and starts them. -1 if the kernel refuses one, or has no
 * counters for all of them now. */
int region_events_open(struct region_events *ev, const struct pfm_region_table *t);

/* -1 with errno EBUSY: the kernel has not counted all the time; EBADF: the program has closed the
 * descriptors. */
int region_events_read(const struct region_events *ev, uint64_t counts[]);

void region_events_close(struct region_events *ev);

#endif
