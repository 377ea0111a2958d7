/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the end of a thread and of all that have inherited its events.
 *
 * The kernel wakes pollers of an event only if the event has a ring buffer, and refuses to map that
 * of an inherited one. So the ring buffer is that of another event of the thread, which counts
 * nothing and is not inherited; it stays empty.
 */
#ifndef BACKEND_PERF_WATCH_H
#define BACKEND_PERF_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct perf_watch {
	int fd;
	void *page; /* Of the ring buffer; NULL: there is no watch. */
};

/* From now on, poll() reports POLLHUP on @leader, an inherited event of thread @tid, when that and
 * all that have inherited it are without their events. -1: it does so on w->fd when the thread is.
 * ESRCH, EMFILE, EPERM. */
int watch_open(struct perf_watch *w, pid_t tid, int leader, struct err *e);
void watch_close(struct perf_watch *w); /* It need not be open. */

/* Whether poll() reports POLLHUP on @fd, which is watched. */
bool watch_is_over(int fd);

#endif
