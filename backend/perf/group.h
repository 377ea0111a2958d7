/* SPDX-License-Identifier: MIT */
/*
 * The events of a target: one group, so that the kernel starts, stops and reads them at once, and
 * an interrupt tells the counts of all.
 *
 * Its leader counts nothing and stays open as long as the target is. It is what starts and stops
 * the group, and what the kernel compares with the thread of a new member: no event can be opened
 * on another thread that has got the number of this one since.
 *
 * When a CPU goes offline, the kernel silently detaches its events: they can still be read, stopped
 * and started, but no longer count, even after the CPU is online again.
 *
 * What the thread creates can inherit the group. Then members are read one by one: while one of the
 * threads ends, the kernel has no complete reading of a group.
 *
 * Of a process, the group itself never runs and is not inherited: it tells what can be counted, and
 * of which program. The first start opens one like it on each thread (process.h).
 */
#ifndef BACKEND_PERF_GROUP_H
#define BACKEND_PERF_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/perf/event.h"
#include "backend/perf/process.h"
#include "base/err.h"
#include "perfmonfs/backend.h"

enum {
	GROUP_MAX = 2 * PMU_MAX_PMDS, /* A new member is open before it replaces another. */
	GROUP_PARKED = 12,            /* With all others, a thread has up to 32 descriptors. */
};

/* A member that counts for no slot until one needs this event again. */
struct group_member {
	int fd;
	uint64_t sel, id;
};

/* The result of read() with the read_format of event.c. */
struct group_reading {
	uint64_t n, enabled, running; /* @n is 0 if the group is inherited. */
	struct {
		uint64_t value, id;
	} event[GROUP_MAX];
};

struct perf_group {
	const atomic_int *tid; /* NULL: the target is @cpu. */
	unsigned cpu;
	struct thread_conf conf;
	struct perf_process *process; /* NULL: one thread. */
	int leader;                   /* Its descriptor. */
	bool begun;                   /* It was started: threads that inherit it may exist. */
	bool running; /* The leader is enabled, or will be when the thread executes a program. */
	bool current; /* @reading was made by the present run. */
	/* If it has no counter, it is in an error state until it is started: it cannot be read, and
	 * its times stand still. */
	bool pinned;
	/* 0; EBUSY: the kernel did not keep the group on the PMU in the present run; ENXIO: the CPU
	 * went offline. */
	int lost;
	bool at_once; /* All runs happen at the moment of one reading: see thread_at_once(). */
	/* Nanoseconds of earlier runs in which the group was enabled and not on the PMU. */
	uint64_t missed;
	/* Of a CPU that runs: CLOCK_MONOTONIC_RAW at which the group had been enabled for @time ns,
	 * which is not more than the kernel had measured. */
	uint64_t since, time;
	struct group_reading reading;
	unsigned nparked;
	struct group_member parked[GROUP_PARKED];
};

/* Nanoseconds. Not CLOCK_MONOTONIC, which time daemons slew by up to several percent. */
uint64_t group_clock(void);

/* The sentence for @no, as perf_group.lost; returns it negative. */
int group_explain_lost(int no, struct err *e);

int group_open_cpu(struct perf_group *g, unsigned cpu, struct err *e);
int group_open_thread(
	struct perf_group *g, const atomic_int *tid, const struct thread_conf *conf, struct err *e);
void group_close(struct perf_group *g);
/* What the thread creates has the same events. */
bool group_is_inherited(const struct perf_group *g);

/* Opens a member, which counts while the group runs: see perf_member_new(). @id: see
 * group_count(). EBUSY: other threads have inherited the group without it. */
int group_add(struct perf_group *g, const struct perf_sources *src, uint64_t sel,
	const struct perf_sampling *sampling, struct backend_stats *stats, uint64_t *id,
	struct err *e);

/* Has a member that was opened while the group runs count from now on: see perf_group_resume(). */
int group_resume(const struct perf_group *g, struct err *e);

/*
 * While the runs of a switch happen at once, software events that are replaced stay open as members
 * that are parked: when they are needed again, they need not be opened, and have counted all along.
 * They never exclude other events. False: it is not parked.
 */
bool group_park(struct perf_group *g, const struct group_member *m);
/* Gets a parked member that counts what @sel selects; false: there is none. */
bool group_unpark(struct perf_group *g, uint64_t sel, struct group_member *m);

/* The counts that an earlier run has lost stay lost; those of this one are not. Of a CPU, EBUSY: no
 * counter is free; ENXIO: it went offline. */
int group_start(struct perf_group *g, struct backend_stats *stats, struct err *e);
/* Before the first start of a process: see process_open(). */
int group_open_process(struct perf_group *g, const struct perf_sources *src,
	const struct process_member *members, unsigned n, struct backend_stats *stats,
	struct err *e);
/* Stops and reads it. If that fails, so does reading the counts. */
void group_stop(struct perf_group *g, struct backend_stats *stats);

/* Reads the group, unless that was done in this run, or at this moment. EBUSY: other users of
 * the PMU took a counter, and all counts are lost; so are they with ENXIO: the CPU went offline. */
int group_read(struct perf_group *g, struct backend_stats *stats, struct err *e);
/* The count of member @id, by group_read(); not of a group that is inherited. EBUSY: as there. */
int group_count(struct perf_group *g, struct backend_stats *stats, uint64_t id, uint64_t *count,
	struct err *e);
/* The same of a process. */
int group_process_count(struct perf_group *g, struct backend_stats *stats, uint64_t id,
	uint64_t *count, struct err *e);

#endif
