/* SPDX-License-Identifier: MIT */
/*
 * When the worker of a thread is to wake: times of the core are those of the thread, which passes
 * no faster than CLOCK_MONOTONIC, and not at all while the thread sleeps.
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

/* What ends the next sleep for @wake of the context, in CLOCK_MONOTONIC: that, and an alarm.
 * Whether the thread's time has come, CMD_POLL finds out. */
struct wake thread_wake_find(struct thread_wake *tw, struct executor *x, struct wake wake);

/* Readable at the alarm; -1: none is set. */
static inline int thread_wake_fd(const struct thread_wake *tw)
{
	return tw->alarm_at ? tw->alarm_fd : -1;
}

/* It was readable, with these @revents. */
void thread_wake_alarmed(struct thread_wake *tw, short revents);

#endif
