/* SPDX-License-Identifier: MIT */
/*
 * Which kernel event a value of a PERFSEL register means.
 *
 * Bits 63:56 are the class. Class 0 is the CPU's own event code, in the x86 event-select layout;
 * class 1 the kernel's software events, whose code in bits 7:0 is PERF_COUNT_SW_* plus one, so
 * that 0 stays "nothing". USR, OS and EN are where every x86 event select has them.
 */
#ifndef BACKEND_PERF_EVENT_H
#define BACKEND_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "perfmonfs/pmu.h"

#define PERFSEL_CODE     0xf0000ffffULL /* event, unit mask, AMD's event bits 11:8 */
#define PERFSEL_EDGE     (1ULL << 18)
#define PERFSEL_INV      (1ULL << 23)
#define PERFSEL_CMASK    0xff000000ULL
#define PERFSEL_CLASS    (0xffULL << 56)
#define PERFSEL_SOFTWARE (1ULL << 56)

/* The bits that mean something in one class or another. */
#define PERFSEL_BITS                                                                               \
	(PERFSEL_CLASS | PERFSEL_CODE | PERFSEL_CMASK | PERFSEL_EDGE | PERFSEL_INV | EVTSEL_USR |  \
		EVTSEL_OS | EVTSEL_EN)

/* The event sources of one CPU that not every kernel has. */
struct perf_sources {
	int cpu; /* perf's type of the CPU's own PMU, -1: none */
	int msr; /* of the msr PMU that has the TSC, -1: none */
	uint64_t tsc;
};

void perf_sources_find(unsigned cpu, struct perf_sources *src);

/* The software events that can be counted with @src; returns how many. */
unsigned perf_events_list(const struct perf_sources *src, struct pmu_event *events);

bool perfsel_hardware(uint64_t sel);
bool perfsel_nothing(uint64_t sel); /* a counter so selected stands still */

/*
 * Opens the event that @sel selects, on CPU @cpu, stopped. Returns the descriptor or -errno:
 * EINVAL for what cannot be asked; ENODEV: the kernel lacks the event's source; ENXIO: the CPU is
 * offline; EACCES, EPERM, EBUSY and others: the kernel's.
 */
int perf_event_new(const struct perf_sources *src, unsigned cpu, uint64_t sel, struct err *e);

/* Whether the kernel lets us count on CPU @cpu at all: opens an event of nothing. 0 or -errno. */
int perf_event_probe(unsigned cpu, struct err *e);

#endif
