/* SPDX-License-Identifier: MIT */
/*
 * The layout of PERFSEL registers, which select kernel events.
 *
 * Bits 63:56 are the class. Class 0 selects an event of the CPU, in the x86 event-select layout.
 * Class 1 selects a software event of the kernel: bits 7:0 are PERF_COUNT_SW_* plus one, so that 0
 * selects no event. USR, OS and EN have the positions of x86 event selects.
 */
#ifndef BACKEND_PERF_EVENT_H
#define BACKEND_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "perfmonfs/backend.h"
#include "perfmonfs/pmu.h"

#define PERFSEL_CODE  0xf0000ffffULL /* Event, unit mask, AMD's event bits 11:8. */
#define PERFSEL_EDGE  (1ULL << 18)
#define PERFSEL_INV   (1ULL << 23)
#define PERFSEL_CMASK 0xff000000ULL
/* perf_event_attr.precise_ip of samples; has no effect on a counter that does not interrupt. */
enum { PERFSEL_PRECISE_AT = 48 };
#define PERFSEL_PRECISE  (3ULL << PERFSEL_PRECISE_AT)
#define PERFSEL_CLASS    (0xffULL << 56)
#define PERFSEL_SOFTWARE (1ULL << 56)

/* Bits that have a meaning in any class. */
#define PERFSEL_BITS                                                                               \
	(PERFSEL_CLASS | PERFSEL_PRECISE | PERFSEL_CODE | PERFSEL_CMASK | PERFSEL_EDGE |           \
		PERFSEL_INV | EVTSEL_USR | EVTSEL_OS | EVTSEL_EN)

/* The target of events: a thread on all CPUs, or everything that a CPU runs. */
struct perf_target {
	pid_t tid;    /* -1: a CPU. */
	int cpu;      /* -1: a thread. */
	bool inherit; /* What the thread creates is counted, too. */
};

static inline struct perf_target perf_on_thread(pid_t tid)
{
	return (struct perf_target){.tid = tid, .cpu = -1};
}

static inline struct perf_target perf_on_cpu(unsigned cpu)
{
	return (struct perf_target){.tid = -1, .cpu = (int)cpu};
}

/* Optional event sources of one CPU. */
struct perf_sources {
	int cpu; /* Value of perf_event_attr.type for the CPU's PMU; -1: none. */
	/* Value of perf_event_attr.type for the kernel's msr PMU, which has the TSC; -1: none. */
	int msr;
	uint64_t tsc; /* perf_event_attr.config of the TSC event. */
};

void perf_sources_find(unsigned cpu, struct perf_sources *src);

/* One CPU of each core type. Most machines have only one core type. */
enum { PERF_KINDS_MAX = 3 };
struct perf_kind {
	unsigned cpu;
	struct perf_sources src;
};

/* Finds a CPU of each core type. Returns the number of types, at least one. */
unsigned perf_kinds_find(struct perf_kind kinds[PERF_KINDS_MAX]);

/* Lists the software events that @src supports; returns how many. */
unsigned perf_events_list(const struct perf_sources *src, struct pmu_event *events);

/* Whether @sel selects an event of the CPU's PMU, or no event at all. */
bool perfsel_hardware(uint64_t sel);
bool perfsel_nothing(uint64_t sel);
/* Whether @sel selects a hardware event. */
bool perfsel_takes_counter(uint64_t sel);

/* Whether @sel selects a clock at user level. The kernel filters the clock's interrupts by level,
 * but not its count. */
bool perfsel_user_clock(uint64_t sel);

/* How an event interrupts: after every @period events; 0: never. */
struct perf_sampling {
	uint64_t period;
	unsigned batch; /* Interrupts after which its ring buffer becomes readable. */
	bool stacks;    /* Call chains are recorded. */
	/* Bytes of the user's stack that are recorded, with the user's registers; 0: none. */
	uint32_t user_stack;
};

/* Whether the kernel records registers and stacks of this architecture as smpl_stack.h has them. */
#ifdef __x86_64__
#define PERF_USER_STACKS true
#else
#define PERF_USER_STACKS false
#endif

/*
 * Opens the leader of a group on @t, disabled. The leader counts nothing. It is pinned if the group
 * takes counters, because the kernel schedules events of the CPU that are not pinned after it.
 * Reading it gives the number of each member's samples that found no room, too, if *@tells_lost is
 * set: not with inherit, nor before Linux 6.0. ESRCH: the thread has ended.
 */
int perf_leader_new(
	struct perf_target t, const struct thread_conf *conf, bool *tells_lost, struct err *e);
/* Checks that the group still exists on @t. ESRCH: the kernel has removed its events, because the
 * thread has ended, or executes a program that gains privileges or cannot be read. */
int perf_leader_check(struct perf_target t, int leader, struct err *e);
/* Opens the event that @sel selects in the group of @leader, on @t. It counts while the leader is
 * enabled. Also fails with EINVAL if the leader belongs to another thread. */
int perf_member_new(const struct perf_sources *src, struct perf_target t, int leader, uint64_t sel,
	const struct perf_sampling *sampling, struct err *e);

/* Makes the kernel remove the group of @leader from @t and add it again with all its members, at
 * one moment. Since Linux 6.13, a new member whose PMU is not the leader's does not count before
 * that. */
int perf_group_resume(struct perf_target t, int leader, struct err *e);

/* Opens a member that interrupts when the thread has run for a period of time, which is endless
 * until it is set. */
int perf_alarm_new(pid_t tid, int leader, struct err *e);

/* Opens a member that counts nothing and records events of the thread (base/perf_events.h), with
 * its switches if @switches, whether or not the leader is enabled. */
int perf_events_new(pid_t tid, int leader, bool switches, struct err *e);

/*
 * Opens the event that @sel selects on the calling thread, in the group of @leader; -1: as a
 * leader, disabled. The event does not count while its leader is open. EINVAL: invalid selection,
 * or the PMU cannot count it together with the rest of the group; ENODEV: the kernel lacks the
 * event's source; EACCES, EPERM, EBUSY and others: see perf_event_open(2).
 */
int perf_trial_new(const struct perf_sources *src, int leader, uint64_t sel,
	const struct perf_sampling *sampling, struct err *e);

/* Tests whether the daemon may open events at all, by opening one that counts nothing. 0 or
 * -errno. */
int perf_event_probe(struct err *e);
/* Tests whether the daemon may open events of whole CPUs, on @cpu. */
int perf_cpu_probe(unsigned cpu, struct err *e);

#endif
