/* SPDX-License-Identifier: MIT */
/*
 * The events of all threads of a process: a group on each, which the threads and processes that it
 * creates inherit. Their sum is the count of the process and its descendants.
 *
 * The kernel has no call that opens an event on a process, and threads may be created meanwhile: by
 * a thread that already has its group, so that they inherit it, or by one that has not. So all
 * groups are opened again until the process has no thread afterwards that it did not have before.
 */
#ifndef BACKEND_PERF_PROCESS_H
#define BACKEND_PERF_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/perf/event.h"
#include "base/err.h"
#include "perfmonfs/backend.h"

/* An event that each thread counts. */
struct process_member {
	uint64_t sel;
	uint32_t addr; /* Address of the counter. */
	uint64_t id;   /* Id by which process_count() finds the member. */
};

/* A sum over all threads. */
struct process_reading {
	uint64_t count, enabled, running;
};

struct perf_process;

/* Opens process @pid, whose thread @tid has the event @reference: the kernel removes that event if
 * the process executes a program that may not be counted. ENOMEM, ESRCH. */
int process_new(
	pid_t pid, const atomic_int *tid, int reference, struct perf_process **out, struct err *e);
void process_free(struct perf_process *p); /* NULL is allowed. */

/*
 * Opens the groups, stopped, with @n members each, and closes the groups of an earlier call.
 * EAGAIN: threads come and go too fast; EMFILE: more than @max_files descriptors, or more than the
 * kernel allows; ESRCH: the process or thread @tid has ended, or lost its events. If it fails,
 * there are no groups.
 */
int process_open(struct perf_process *p, const struct perf_sources *src,
	const struct process_member *members, unsigned n, unsigned max_files, struct err *e);

/* Starts or stops all groups, one after another. */
int process_run(struct perf_process *p, bool on, struct err *e);

/* Sums the times of all groups; count is not set. False: the kernel did not keep one of them on the
 * PMU, or there are none. */
bool process_time(const struct perf_process *p, struct process_reading *r);
/* Sums the counts and times of member @id. False as for process_time(). */
bool process_count(const struct perf_process *p, uint64_t id, struct process_reading *r);

/* Reads all members of each group. The caller frees @out. ENOMEM. */
int process_table(const struct perf_process *p, struct thread_table *out, struct err *e);

/* Returns a descriptor of one of the remaining groups, on which poll() reports POLLHUP when all
 * threads that have inherited it have ended. Only this group takes a page of locked memory. ESRCH:
 * no group is left; EPERM and others: its page is refused, without which it is not known. */
int process_watch(struct perf_process *p, struct err *e);

#endif
