/* SPDX-License-Identifier: MIT */
/*
 * Free-running registers of all CPUs (pmu.frees). A thread reads those that wrap, twice in the time
 * in which they may, so that they have 64 bits. Values are read on request, but energy at most once
 * in a millisecond. No number is made up: an offline CPU, a register that cannot be read, and wraps
 * that may have been missed are reported as such.
 */
#ifndef PERCPU_READINGS_H
#define PERCPU_READINGS_H

#include "daemon/core/reading.h"
#include "perfmonfs/backend.h"

struct readings;

/* The value of a register of a CPU, core or package. */
struct reading_value {
	const struct pmu_free *reg;
	/* For a register of a CPU, the CPU's number; for a core or CCX, the lowest of its CPUs that
	 * was seen; for a package, the package's number. */
	unsigned number;
	/* ENXIO: offline; EIO: it cannot be read; ENODATA: the register has no value now; EAGAIN:
	 * it was not read for too long, and restarts. 0: @value. */
	int error;
	/* As reading_shown(). */
	uint64_t value;
	/* For energy: the power in microwatts, averaged over the last @span_ns, 0.1 to 20 seconds.
	 * 0: not known yet. */
	uint64_t uw, span_ns;
};

typedef void readings_each(void *arg, const struct reading_value *v);

/* Fails with ENOMEM. Reads nothing yet. */
int readings_new(struct backend *be, struct readings **out, struct err *e);
/* Starts the thread, if a register wraps and time is not scripted. If the thread cannot be started,
 * sums that are not requested often enough restart. */
void readings_begin(struct readings *r);
/* Ends the thread and frees @r, which may be NULL. No other function may be running. */
void readings_free(struct readings *r);

enum {
	READINGS_ENERGY = 1 << 0,   /* Energy; otherwise all except energy. */
	READINGS_PACKAGES = 1 << 1, /* Registers of packages alone. */
};

/*
 * Calls @each for the values that @which, of the flags above, chooses, in the order of pmu.frees
 * and of CPUs. For one thread at a time, and not for the session thread, as it reads all CPUs.
 */
void readings_scan(struct readings *r, unsigned which, readings_each *each, void *arg);

#endif
