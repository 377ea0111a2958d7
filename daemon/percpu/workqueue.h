/* SPDX-License-Identifier: MIT */
/*
 * A workqueue: a thread for work that the session thread must not wait for, such as reading the
 * status of a thread with 65536 groups, which takes the kernel 16 ms, or opening a file. The end of
 * a work is an event for the session thread.
 *
 * Users take turns with their works. A work that has taken long delays the user's next one by up to
 * 4 seconds, so that the long works of fifty users together take a sixth of a CPU. So a short work
 * waits for one long work at most, unless many users begin with a long one at the same time. There
 * is one thread only, as the kernel may not preempt a thread that reads a status.
 *
 * All functions are for the session thread.
 */
#ifndef PERCPU_WORKQUEUE_H
#define PERCPU_WORKQUEUE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/list.h"
#include "daemon/percpu/event_queue.h"

struct workqueue;

/* Embedded in the struct that it is about. All fields after @done are zero at submission. */
struct work {
	/* The user whose turn it takes. */
	uid_t uid;
	/* It precedes the user's other works that wait, and a delay begins after it. */
	bool first;
	/* It may never end: the daemon ends without it. Other works do not wait for it: it has a
	 * workqueue of its own. */
	bool may_hang;
	/* Does the work, in a thread of the workqueue. */
	void (*run)(struct work *w);
	/* Called once by the session thread, unless the work is cancelled. */
	void (*done)(struct work *w);
	/* For done(): the workqueue was stopped, and run() was not called, or hangs. */
	bool ended;
	/* For done(): run() hangs, and goes on using the work. */
	bool hangs;

	/* The fields from here on are the workqueue's, guarded by its lock. */
	struct workqueue *wq;
	/* EVENT_WORK */
	struct event event;
	/* In workqueue_user.works while it waits. */
	struct list_head link;
	bool waiting;
};

/* Returns 0 or -ENOMEM. */
int workqueue_new(struct event_queue *events, struct workqueue **out, struct err *e);
/* Ends all works; waits for the one that runs, unless it may hang. The events of works that have
 * run follow. */
void workqueue_stop(struct workqueue *wq);
/* To be called after workqueue_stop() and its events. @wq may be NULL. */
void workqueue_free(struct workqueue *wq);

/* Fails with EAGAIN if no thread could be started, or with ENOMEM. After workqueue_stop(), @w is
 * run by the caller's thread, unless it may hang: that fails with ENODEV. */
int workqueue_submit(struct workqueue *wq, struct work *w, struct err *e);
/* Cancels @w. False if it is too late: done() follows. */
bool workqueue_cancel(struct workqueue *wq, struct work *w);

/* True if a work of @uid would be delayed, as one has taken long. */
bool workqueue_delays(struct workqueue *wq, uid_t uid);

/* True if a work hangs since a workqueue was stopped. */
bool workqueue_hangs(void);

/* True if events are to come. */
bool workqueue_expects_events(const struct workqueue *wq);
/* Handles EVENT_WORK. */
void workqueue_complete(struct event *event);

#endif
