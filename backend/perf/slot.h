/* SPDX-License-Identifier: MIT */
/*
 * A slot of the perf backend: a selector and its counter, backed by one kernel event.
 *
 * The event is opened when the selector is first written with EN set, stays open while EN changes,
 * and is replaced when EN is set with another selection. A count is exact or refused, never scaled,
 * partial or stale: if the kernel did not count all of the time, the count is lost until the
 * counter is written again.
 *
 * The kernel's count of a clock at user level includes the kernel level. The slot counts a period
 * for each of the clock's interrupts instead, which are at user level only.
 *
 * The events of a target are members of a group and count while the group runs (group.h):
 * regardless of what else is running, a slot starts and stops by recording the member's count.
 */
#ifndef BACKEND_PERF_SLOT_H
#define BACKEND_PERF_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/perf/event.h"
#include "backend/perf/group.h"
#include "backend/perf/ring.h"
#include "base/err.h"
#include "perfmonfs/backend.h"

/* Shared by all slots of a target. */
struct perf_cpu {
	unsigned cpu; /* For a thread, any CPU that has its events. */
	struct perf_group *group;
	struct perf_sources src;
	struct perf_interrupts *interrupts; /* NULL: events do not interrupt. */
	struct backend_stats *stats;        /* Each system call counts as a register access. */
};

struct perf_slot {
	uint64_t sel;   /* The selector's value. */
	uint64_t value; /* The counter's value at event count @count. */
	uint64_t count; /* The event count at which the counter had @value. */
	int fd;         /* -1: no event is open. */
	bool running;   /* The event is enabled. */
	/* 0, or the positive errno with which reading fails, because the count is lost. */
	int lost;
	uint64_t open; /* The selector, without EN, for which the event was opened. */
	bool off;      /* The event rests: it is disabled and takes no counter. */
	uint64_t id;   /* The event's id. */
	/* How many of its samples that the kernel has lost were taken in. */
	uint64_t dropped;
	/* Events between interrupts: as set in the kernel, 0 if the event does not interrupt; and
	 * as the next event will have it. */
	uint64_t period, next_period;
	/* A clock at user level: the periods of all its interrupts, and when it started last
	 * (CLOCK_MONOTONIC). */
	uint64_t interrupted, started;
	uint64_t enabled; /* The group's enabled time when the member was opened, ns. */
	/* Nanoseconds, at most, that the event was enabled but off the PMU because it was opened
	 * while the group ran. */
	uint64_t waited;
};

#define PERF_SLOT_INIT ((struct perf_slot){.fd = -1})

/* Writes the selector: starts, stops or replaces the event. A failure changes nothing. */
int slot_select(const struct perf_cpu *pc, struct perf_slot *s, uint64_t sel, struct err *e);

/*
 * Read and write the counter. EBUSY: the kernel did not keep the event on the PMU; ENXIO: the CPU
 * was offline. After a loss, the counter can be written as soon as EN is clear.
 */
int slot_read(const struct perf_cpu *pc, struct perf_slot *s, uint64_t *value, struct err *e);
int slot_write(const struct perf_cpu *pc, struct perf_slot *s, uint64_t value, struct err *e);

/* Makes the event take no counter until slot_resume(). False: it is running, or takes none. */
bool slot_rest(const struct perf_cpu *pc, struct perf_slot *s);
/* Whether the slot runs while its event rests. */
bool slot_waits(const struct perf_slot *s);
/* Enables the event of a slot that waits. If that fails, reading the counter fails. */
void slot_resume(const struct perf_cpu *pc, struct perf_slot *s);

/* backend_ops.interrupt_after */
int slot_interrupt_after(const struct perf_cpu *pc, struct perf_slot *s, uint64_t sel,
	uint64_t left, uint64_t wanted, struct err *e);

/* Takes in an interrupt of the slot's event at @time, CLOCK_MONOTONIC. */
void slot_interrupt(struct perf_slot *s, uint64_t time);

/* The counter's value when its event's count was @count. */
uint64_t slot_value_at(const struct perf_slot *s, uint64_t count);

/* Closes the event; the slot is PERF_SLOT_INIT again. */
void slot_close(struct perf_slot *s);

#endif
