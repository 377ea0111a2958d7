/* SPDX-License-Identifier: MIT */
/*
 * Events of processes in the ring buffer of a perf event with attr.mmap, comm, comm_exec, task and
 * sample_id_all.
 */
#ifndef BASE_PERF_EVENTS_H
#define BASE_PERF_EVENTS_H

#include "base/perf_ring.h"
#include "perfmonfs/format.h"

/* Of sample_type, what a record of an event ends with; PERF_SAMPLE_IP and _CALLCHAIN add nothing to
 * that. */
enum { PERF_EVENTS_SAMPLE_TYPE = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU };

/*
 * Parses the current record of @ring. 1: it is event @ev, whose name is in the record and valid
 * until the next one; 0: it is of another kind; -EINVAL: it is malformed.
 */
int perf_events_parse(struct perf_ring *ring, pfm_smpl_event_t *ev);

#endif
