/* SPDX-License-Identifier: MIT */
/*
 * Interrupts of a target's counters: the kernel's ring buffer, into which all events of the target
 * that have a period write a record at each overflow. The ring of a thread can also have records of
 * what the thread executes and maps.
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
	int fd;     /* The event that owns the ring. */
	int events; /* The perf event that records events of the thread; -1: none. */
	uint64_t events_id, events_dropped; /* As perf_slot.id and perf_slot.dropped. */
	uint64_t event_time;                /* Time of the latest event of the thread, ns. */
	uint64_t out;   /* When the thread was switched out; 0: it runs, or this is not known. */
	bool preempted; /* It could have gone on then. */
	/* Records are missing before the present one, and no sample has come since: the sample of
	 * the next switch out may be among them. */
	bool holes;
	struct interrupt_conf conf;
	struct perf_ring ring;
	uint64_t malformed; /* How many of ring.malformed ring_next() has reported. */
	/* Records that found no room: as records tell, which come with the next one that finds
	 * room; as the counts of their events tell; and as was reported. */
	uint64_t lost_recorded, lost_counted, lost_reported;
};

/* A parsed record of the ring. Pointers are valid until the next record is taken. */
struct perf_record {
	enum interrupt_kind kind;
	uint64_t id; /* The event that interrupted or was throttled. */
	uint64_t dropped;
	uint64_t time;
	uint64_t ip;
	uint32_t pid, tid, cpu;
	/* Times of the group, whose events were on the PMU for @running of @enabled nanoseconds. */
	uint64_t enabled, running;
	uint64_t ncounts;
	/* The counts of all events of the group: pairs of a count and an id. */
	const uint64_t *counts;
	uint64_t nframes;
	const uint64_t *frames;
	pfm_smpl_user_t user;
	pfm_smpl_event_t event;
};

/* Bytes of memory that the ring for @conf takes at most. */
size_t ring_bytes(const struct interrupt_conf *conf);

/* Maps the ring of event @fd, the leader of a group. */
int ring_new(
	int fd, const struct interrupt_conf *conf, struct perf_interrupts **out, struct err *e);
void ring_free(struct perf_interrupts *p); /* NULL is allowed. */

/* Also records the events of thread @tid, whose group @p belongs to, in the ring, and if @waits the
 * end of each wait. */
int ring_open_events(struct perf_interrupts *p, pid_t tid, bool waits, struct err *e);

/* The settings of an event that interrupts every @period events. @p NULL or @period 0: no
 * interrupts. */
struct perf_sampling ring_sampling(const struct perf_interrupts *p, uint64_t period);

/* Makes event @fd write into the ring; sets *@id to the event's id. */
int ring_attach(const struct perf_interrupts *p, int fd, uint64_t *id, struct err *e);

/* Takes the next record. Times of INTERRUPT_EVENT never decrease. */
bool ring_next(struct perf_interrupts *p, struct perf_record *r);

/* Takes in that @n more records found no room, as the counts of their events tell. If that was not
 * reported, sets *@r to what is to be reported. */
bool ring_lost(struct perf_interrupts *p, uint64_t n, struct perf_record *r);

/* Parses the current record. False: it is malformed, or of another kind. */
bool ring_parse(struct perf_ring *ring, struct perf_record *r);

#endif
