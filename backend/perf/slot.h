/* SPDX-License-Identifier: MIT */
/*
 * A slot of the perf backend: a selector and its counter over one kernel event.
 *
 * The event is opened when the selector is first written with EN set, stays open while EN comes
 * and goes, and is replaced when EN is set with another selection. A count is exact or it is
 * refused, never scaled, partial or stale: what the kernel did not count in full is lost, and so
 * it remains until the counter is written anew.
 */
#ifndef BACKEND_PERF_SLOT_H
#define BACKEND_PERF_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/perf/event.h"
#include "base/err.h"
#include "perfmonfs/backend.h"

/* What the slots of one CPU share. */
struct perf_cpu {
	unsigned cpu;
	struct perf_sources src;
	struct backend_stats *stats; /* system calls are this backend's register accesses */
};

struct perf_slot {
	uint64_t sel;   /* what the selector holds */
	uint64_t value; /* what the counter held ... */
	uint64_t count; /* ... when the event stood at this */
	int fd;         /* -1: no event is open */
	bool running;
	int lost;       /* 0, or the errno with which the counter is refused */
	uint64_t open;  /* what the event was opened for: a selector without EN */
	uint64_t since; /* if it runs: by this time it had been enabled ... */
	uint64_t time;  /* ... for this long, or a little longer */
};

#define PERF_SLOT_INIT ((struct perf_slot){.fd = -1})

/* Writing the selector: starts, stops or changes the event. If refused, nothing has changed. */
int slot_select(const struct perf_cpu *pc, struct perf_slot *s, uint64_t sel, struct err *e);

/*
 * The counter. EIO: the kernel did not keep the event on the PMU; ENXIO: the CPU was offline.
 * A lost count can be written again once the selector is without EN.
 */
int slot_read(const struct perf_cpu *pc, struct perf_slot *s, uint64_t *value, struct err *e);
int slot_write(const struct perf_cpu *pc, struct perf_slot *s, uint64_t value, struct err *e);

/* Back to the state of PERF_SLOT_INIT. */
void slot_close(struct perf_slot *s);

#endif
