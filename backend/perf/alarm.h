/* SPDX-License-Identifier: MIT */
/*
 * An alarm in the time that a thread runs: a task-clock event in the thread's group, which
 * interrupts after that time and so makes its descriptor readable. It costs nothing while the
 * thread does not run.
 */
#ifndef BACKEND_PERF_ALARM_H
#define BACKEND_PERF_ALARM_H

#include "backend/perf/group.h"
#include "base/err.h"
#include "base/perf_ring.h"
#include "perfmonfs/backend.h"

struct perf_alarm {
	int fd;
	struct perf_ring ring; /* A ring whose records serve only to wake the reader. */
};

/* Opens an alarm that is not set. EMFILE, EPERM, ENOMEM: the kernel refuses. */
int alarm_new(const struct perf_group *g, struct perf_alarm **out, struct err *e);
void alarm_free(struct perf_alarm *a); /* NULL is allowed. */

/* Makes a->fd readable once the group has run for @ns from now, and not readable until then. */
int alarm_set(struct perf_alarm *a, uint64_t ns, struct backend_stats *stats, struct err *e);

#endif
