/* SPDX-License-Identifier: MIT */
/*
 * The events of a target form one group, so that the kernel starts, stops and reads them at once,
 * and an interrupt reports the counts of all.
 *
 * The leader counts nothing and stays open as long as the target is. Enabling and disabling it
 * starts and stops the group. The kernel also compares the leader's thread with that of a new
 * member, so no event can be opened on another thread that has reused the tid.
 *
 * When a CPU goes offline, the kernel silently detaches its events: they can still be read, stopped
 * and started, but no longer count, even after the CPU is online again.
 *
 * Threads and processes that the thread creates can inherit the group. Then members are read one by
 * one, because the kernel cannot read a group completely while one of the threads ends.
 *
 * For a process, the group itself never runs and is not inherited: it only shows which events can
 * be counted and in which program. The first start opens a group like it on each thread
 * (process.h).
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
	/* Together with all others, a thread has up to 32 descriptors. */
	GROUP_PARKED = 12,
};

/* A member that no slot uses until one needs this event again. */
struct group_member {
	int fd;
	uint64_t sel, id;
};

/* The result of read() with the read_format of event.c. */
struct group_reading {
	uint64_t n, enabled, running; /* @n is 0 if the group is inherited. */
	uint64_t words[3 * GROUP_MAX]; /* See group_member_read(). */
};

/* What a reading has of a member. */
struct group_count {
	uint64_t value, id;
	uint64_t lost; /* Its samples that found no room in the ring; 0 if the kernel does not tell.
			*/
};

struct perf_group {
	const atomic_int *tid; /* NULL: the target is @cpu. */
	unsigned cpu;
	struct thread_conf conf;
	struct perf_process *process; /* NULL: one thread. */
	int leader;                   /* The leader's descriptor. */
	bool tells_lost;              /* See perf_leader_new(). */
	bool begun;                   /* It was started, so threads that inherit it may exist. */
	bool running; /* The leader is enabled, or will be when the thread executes a program. */
	bool current; /* @reading was made by the present run. */
	/* The leader is pinned. Without a counter, a pinned group is in an error state until it is
	 * started: it cannot be read, and its times do not advance. */
	bool pinned;
	/* 0; EBUSY: the kernel did not keep the group on the PMU in the present run; ENXIO: the CPU
	 * went offline. */
	int lost;
	bool at_once; /* All runs take effect at the moment of one reading: see thread_at_once(). */
	/* Nanoseconds of earlier runs in which the group was enabled and not on the PMU. */
	uint64_t missed;
	/* While a group on a CPU runs: the CLOCK_MONOTONIC_RAW time at which the group had been
	 * enabled for @time ns, which is at most what the kernel had measured. */
	uint64_t since, time;
	struct group_reading reading;
	unsigned nparked;
	struct group_member parked[GROUP_PARKED];
};

/* The time in nanoseconds. Not CLOCK_MONOTONIC, which time daemons slew by up to several
 * percent. */
uint64_t group_clock(void);

/* Sets the sentence for @no, a value of perf_group.lost; returns -@no. */
int group_explain_lost(int no, struct err *e);

int group_open_cpu(struct perf_group *g, unsigned cpu, struct err *e);
int group_open_thread(
	struct perf_group *g, const atomic_int *tid, const struct thread_conf *conf, struct err *e);
void group_close(struct perf_group *g);
struct perf_target group_target(const struct perf_group *g);
/* Whether threads that the thread creates inherit the group. */
bool group_is_inherited(const struct perf_group *g);

/* Opens a member, which counts while the group runs: see perf_member_new(). @id: see
 * group_count(). EBUSY: other threads have inherited the group without it. */
int group_add(struct perf_group *g, const struct perf_sources *src, uint64_t sel,
	const struct perf_sampling *sampling, uint64_t *id, struct err *e);

/* Makes a member that was opened while the group runs count from now on: see
 * perf_group_resume(). */
int group_resume(const struct perf_group *g, struct err *e);

/*
 * Parks @m. While all runs of a set switch take effect at once, software events that are replaced
 * stay open as parked members: when they are needed again, they need not be opened, and have
 * counted all along. They never exclude other events. False: @m is not parked.
 */
bool group_park(struct perf_group *g, const struct group_member *m);
/* Takes a parked member that counts the event of @sel; false: there is none. */
bool group_unpark(struct perf_group *g, uint64_t sel, struct group_member *m);

/* Starts the group. Counts that an earlier run has lost stay lost, but do not affect this run. On a
 * CPU, EBUSY: no counter is free; ENXIO: it went offline. */
int group_start(struct perf_group *g, struct backend_stats *stats, struct err *e);
/* Opens the groups of a process's threads, before its first start: see process_open(). */
int group_open_process(struct perf_group *g, const struct perf_sources *src,
	const struct process_member *members, unsigned n, struct backend_stats *stats,
	struct err *e);
/* Stops the group and reads it. If that fails, reading the counts fails later. */
void group_stop(struct perf_group *g, struct backend_stats *stats);

/* Reads the group, unless it was already read in this run, or at this moment. All counts are lost
 * on EBUSY (other users of the PMU took a counter) and on ENXIO (the CPU went offline). */
int group_read(struct perf_group *g, struct backend_stats *stats, struct err *e);
/* What the last reading has of member @i, which is less than reading.n. */
static inline struct group_count group_member_read(const struct perf_group *g, unsigned i)
{
	const uint64_t *w = &g->reading.words[(g->tells_lost ? 3 : 2) * i];

	return (struct group_count){w[0], w[1], g->tells_lost ? w[2] : 0};
}
/* Gets the count of member @id by group_read(), with its errors. Not for inherited groups. */
int group_count(struct perf_group *g, struct backend_stats *stats, uint64_t id, uint64_t *count,
	struct err *e);
/* Gets the sum of member @id over the threads of a process. EBUSY: it is lost. */
int group_process_count(struct perf_group *g, struct backend_stats *stats, uint64_t id,
	uint64_t *count, struct err *e);

#endif
