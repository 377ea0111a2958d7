/* SPDX-License-Identifier: MIT */
/*
 * Interrupts of a target's counters: the kernel's ring buffer, into which all of its events that
 * have a period write a record at each overflow. That of a thread can have what the thread executes
 * and maps besides.
 */
#ifndef BACKEND_PERF_RING_H
#define BACKEND_PERF_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/perf/event.h"
#include "base/err.h"
#include "base/perf_ring.h"
#include "perfmonfs/backend.h"

struct perf_interrupts {
	int fd;     /* The event whose ring it is. */
	int events; /* The event that records events of the thread; -1: none does. */
	uint64_t event_time; /* That of the latest of these, ns. */
	struct interrupt_conf conf;
	struct perf_ring ring;
};

/* A record of the ring, as far as it is understood. Pointers are valid until the next one. */
struct perf_record {
	enum interrupt_kind kind;
	uint64_t id; /* Of the event that interrupted, or was throttled. */
	uint64_t dropped;
	uint64_t time;
	uint64_t ip;
	uint32_t pid, tid, cpu;
	/* The counts of all events of the group, which were on the PMU for @running of @enabled
	 * nanoseconds. */
	uint64_t enabled, running;
	uint64_t ncounts;
	const uint64_t *counts; /* Pairs of a count and an id. */
	uint64_t nframes;
	const uint64_t *frames;
	pfm_smpl_event_t event;
};

/* Memory that a ring takes. */
size_t ring_bytes(void);

/* Maps the ring of event @fd, the leader of a group. */
int ring_new(int fd, struct perf_interrupts **out, struct err *e);
void ring_free(struct perf_interrupts *p); /* NULL is allowed. */

/* Has the events of thread @tid, whose group is that of @p, recorded in the ring as well. */
int ring_open_events(struct perf_interrupts *p, pid_t tid, struct err *e);

/* What an event needs that interrupts each @period events. @p NULL or @period 0: no interrupts. */
struct perf_sampling ring_sampling(const struct perf_interrupts *p, uint64_t period);

/* Has event @fd write into the ring, and gives its number. */
int ring_attach(const struct perf_interrupts *p, int fd, uint64_t *id, struct err *e);

/* Takes the next record. Times of INTERRUPT_EVENT never decrease. */
bool ring_next(struct perf_interrupts *p, struct perf_record *r);

/* The parser. False: the current record is malformed, or of another kind. */
bool ring_parse(struct perf_ring *ring, struct perf_record *r);

#endif
