/* SPDX-License-Identifier: MIT */
/*
 * Parses the records of a perf event's ring buffer (base/perf_ring.h).
 */
#ifndef PERCPU_PERF_RECORDS_H
#define PERCPU_PERF_RECORDS_H

#include <stdbool.h>

#include "base/perf_events.h"
#include "base/perf_ring.h"
#include "perfmonfs/format.h"
#include "perfmonfs/smpl_stack.h"

enum {
	/* sample_type of perf_event_attr: the layout that the parser expects, to which
	 * PERF_SAMPLE_CALLCHAIN may be added. */
	PERF_RECORDS_SAMPLE_TYPE = PERF_EVENTS_SAMPLE_TYPE | PERF_SAMPLE_IP,
	/* One frame more than a format takes shows it that the stack is longer. */
	PERF_RECORDS_FRAMES_MAX = PFM_STACK_MAX_FRAMES + 1 + PFM_STACK_MAX_MARKERS,
};

struct perf_records {
	struct perf_ring ring;
	/* A thread whose samples are ignored. */
	uint32_t self;
	/* Records that the kernel dropped, or that were malformed, in addition to those of
	 * @ring. */
	uint64_t lost;
	/* The latest time of an event, ns. */
	uint64_t event_time;
	/* The time of the newest sample, ns. */
	uint64_t sample_time;
	/* Samples have a call chain. */
	bool stacks;
	/* The call chain of the newest sample. */
	uint64_t frames[PERF_RECORDS_FRAMES_MAX];
};

/*
 * Parses all records up to position @head. Sets *@newest to the newest sample, ignoring thread
 * r->self, unless there is none; its call chain is in @r until the next call. Calls @event for each
 * event of a process; NULL skips them.
 */
void perf_records_read(struct perf_records *r, uint64_t head, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg);

#endif
