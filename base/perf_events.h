/* SPDX-License-Identifier: MIT */
/*
 * Events of processes in the ring buffer of a perf event with attr.mmap, mmap2, comm, comm_exec,
 * task and sample_id_all; with attr.context_switch, also the switches of a thread.
 */
#ifndef BASE_PERF_EVENTS_H
#define BASE_PERF_EVENTS_H

#include "base/perf_ring.h"
#include "perfmonfs/format.h"

/* The bits of sample_type that determine the end of an event's record. PERF_SAMPLE_IP and
 * _CALLCHAIN may be set as well; they add nothing there. */
enum { PERF_EVENTS_SAMPLE_TYPE = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU };

/*
 * Parses the current record of @ring. Returns 1 if it is an event, whose name in @ev is valid until
 * the next record is taken; 0 if it is of another kind; -EINVAL if it is malformed. A switch is a
 * PFM_EVENT_WAIT without its length; @ring->rec->misc tells its direction.
 */
int perf_events_parse(struct perf_ring *ring, pfm_smpl_event_t *ev);

#endif
