/* SPDX-License-Identifier: MIT */
/*
 * Free registers of all CPUs (pmu.frees): those that wrap are read by a thread, twice in the time
 * in which they may, so that they have 64 bits. Values are read when they are asked for, but of
 * energy at most once in a millisecond. No number is made up: a CPU that is offline, a register
 * that cannot be read, or wraps that may have been missed, are told as such.
 */
#ifndef PERCPU_READINGS_H
#define PERCPU_READINGS_H

#include "daemon/core/reading.h"
#include "perfmonfs/backend.h"

struct readings;

/* The value of a register of a CPU, core or package. */
struct reading_value {
	const struct pmu_free *reg;
	/* Of a register of a CPU, its number; of a core or CCX, the lowest one of its CPUs that was
	 * seen; of a package, the package's number. */
	unsigned number;
	/* ENXIO: offline; EIO: it cannot be read; ENODATA: the register has no value now; EAGAIN:
	 * it was not read for too long, and restarts. 0: @value. */
	int error;
	/* As reading_shown(). */
	uint64_t value;
	/* Of energy: the power in microwatts, on average over the last @span_ns, 0.1 to 20 seconds.
	 * 0: not known yet. */
	uint64_t uw, span_ns;
};

typedef void readings_each(void *arg, const struct reading_value *v);

/* ENOMEM. Nothing is read yet. */
int readings_new(struct backend *be, struct readings **out, struct err *e);
/* Starts the thread, if a register wraps and time is not scripted. Where it cannot be started, sums
 * that are not asked for often enough restart. */
void readings_begin(struct readings *r);
/* Ends it. NULL is fine. No other function is running. */
void readings_free(struct readings *r);

enum {
	READINGS_ENERGY = 1 << 0,   /* Energy; else all but energy. */
	READINGS_PACKAGES = 1 << 1, /* Registers of packages alone. */
};

/*
 * Calls @each for the values that @which, of the flags above, chooses, in the order of pmu.frees
 * and of CPUs. One thread at a time, and not the session thread: that reads all CPUs.
 */
void readings_scan(struct readings *r, unsigned which, readings_each *each, void *arg);

#endif
