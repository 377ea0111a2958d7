/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the end of a thread and of all that have inherited its events.
 *
 * The kernel wakes pollers of an event only if the event has a ring buffer, and refuses to map the
 * ring buffer of an inherited event. So the ring buffer belongs to another event of the thread,
 * which counts nothing and is not inherited; it stays empty.
 */
#ifndef BACKEND_PERF_WATCH_H
#define BACKEND_PERF_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct perf_watch {
	bool open;
	int fd;
	void *page; /* Mapping of the ring buffer; NULL: poll() reports nothing. */
};

/* Opens the other event on thread @tid. ESRCH, EMFILE, EPERM. */
int watch_open(struct perf_watch *w, pid_t tid, struct err *e);

/* From now on, poll() reports POLLHUP on @leader, an inherited event of the thread, when the thread
 * and all that have inherited the event are without it. If @leader is -1, poll() reports POLLHUP on
 * w->fd when the thread is without its events. The page is locked memory, which is limited: EPERM.
 */
int watch_map(struct perf_watch *w, int leader, struct err *e);
void watch_unmap(struct perf_watch *w); /* @w need not be mapped. */

void watch_close(struct perf_watch *w); /* @w need not be open. */

/* Whether poll() reports POLLHUP on @fd, which is watched. */
bool watch_is_over(int fd);

#endif
