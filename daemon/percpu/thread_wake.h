/* SPDX-License-Identifier: MIT */
/*
 * Wake-up times for the worker of a thread: times of the core are in the thread's time, which
 * passes no faster than CLOCK_MONOTONIC, and not at all while the thread sleeps.
 */
#ifndef PERCPU_THREAD_WAKE_H
#define PERCPU_THREAD_WAKE_H

#include "daemon/percpu/exec.h"

struct thread_wake {
	/* The thread's time when it was last known, and the least sleep while it does not pass
	 * (ns). */
	uint64_t last, pause;
	/* The worker polls thread_wake_fd(), and the context has sets that switch by time. */
	bool alarms;
	/* The time of the alarm that is set, and its descriptor; 0: none is set. */
	uint64_t alarm_at;
	int alarm_fd;
};

/* Returns when the next sleep ends for @wake of the context, in CLOCK_MONOTONIC; an alarm may end
 * it as well. CMD_POLL finds out whether the thread's time has come. */
struct wake thread_wake_find(struct thread_wake *tw, struct executor *x, struct wake wake);

/* A descriptor that becomes readable at the alarm; -1: none is set. */
static inline int thread_wake_fd(const struct thread_wake *tw)
{
	return tw->alarm_at ? tw->alarm_fd : -1;
}

/* To be called when that descriptor has reported @revents. */
void thread_wake_alarmed(struct thread_wake *tw, short revents);

#endif
