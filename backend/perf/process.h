/* SPDX-License-Identifier: MIT */
/*
 * The events of all threads that a process has: a group on each, which what the thread creates
 * inherits. Their sum is that of the process and of all that it creates.
 *
 * The kernel has no call that opens an event on a process, and threads may be created meanwhile: by
 * one that has its group yet, so that they have inherited it, or by one that has not. So all groups
 * are opened again until the process has no thread afterwards that it did not have before.
 */
#ifndef BACKEND_PERF_PROCESS_H
#define BACKEND_PERF_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/perf/event.h"
#include "base/err.h"
#include "perfmonfs/backend.h"

/* What each thread counts. */
struct process_member {
	uint64_t sel;
	uint64_t id; /* by which process_count() finds it */
};

/* A sum over all threads. */
struct process_reading {
	uint64_t count, enabled, running;
};

struct perf_process;

/* Opens process @pid, whose thread @tid has the event @reference: the kernel takes that away if the
 * process executes a program that may not be counted. ENOMEM, ESRCH. */
int process_new(
	pid_t pid, const atomic_int *tid, int reference, struct perf_process **out, struct err *e);
void process_free(struct perf_process *p); /* NULL is allowed. */

/*
 * Opens the groups, stopped, with @n members each; those of an earlier call are closed. EAGAIN:
 * threads come and go too fast; EMFILE: more than @max_files descriptors, or than the kernel has;
 * ESRCH: the process, or thread @tid, has ended, or lost its events. If it fails, there are no
 * groups.
 */
int process_open(struct perf_process *p, const struct perf_sources *src,
	const struct process_member *members, unsigned n, unsigned max_files, struct err *e);

/* Starts or stops all groups, one after the other. */
int process_run(struct perf_process *p, bool on, struct err *e);

/* The time of all groups; count is not set. False: the kernel did not keep one of them on the PMU,
 * or there are none. */
bool process_time(const struct perf_process *p, struct process_reading *r);
/* The sum of member @id. The same. */
bool process_count(const struct perf_process *p, uint64_t id, struct process_reading *r);

/* Of one of the groups that are left: a descriptor on which poll() reports POLLHUP when all that
 * have inherited it have ended. -1: there is none. */
int process_watch(const struct perf_process *p);

#endif
