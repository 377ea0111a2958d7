/* SPDX-License-Identifier: MIT */
/*
 * A workqueue: a thread for what the session thread must not wait for, such as reading the status
 * of a thread with 65536 groups, which takes the kernel 16 ms, or opening a file. The end of a work
 * is an event for the session thread.
 *
 * Users take turns with their works. One that has taken long delays the user's next one by up to 4
 * seconds, for the long works of fifty users to take a sixth of a CPU together. So a short work
 * waits for one long work at most, unless many users begin with a long one at the same time. It is
 * one thread, as the kernel may not preempt what reads a status.
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

/* Embedded in what it is about. All fields after @done are zero at submission. */
struct work {
	/* Whose turn it takes. */
	uid_t uid;
	/* It precedes the user's other works that wait, and a delay begins after it. */
	bool first;
	/* It may never end: the daemon ends without it. Others do not wait for it: it has a
	 * workqueue of its own. */
	bool may_hang;
	/* The work, in a thread of the workqueue. */
	void (*run)(struct work *w);
	/* The session thread calls it, once, unless the work is cancelled. */
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

/* -ENOMEM. */
int workqueue_new(struct event_queue *events, struct workqueue **out, struct err *e);
/* Ends all works; waits for the one that runs, unless it may hang. The events of those that have
 * run follow. */
void workqueue_stop(struct workqueue *wq);
/* After that and its events. NULL is fine. */
void workqueue_free(struct workqueue *wq);

/* EAGAIN: no thread could be started. ENOMEM. After workqueue_stop(), the caller runs it, unless it
 * may hang: ENODEV. */
int workqueue_submit(struct workqueue *wq, struct work *w, struct err *e);
/* False: it is too late, done() follows. */
bool workqueue_cancel(struct workqueue *wq, struct work *w);

/* A work of @uid would be delayed, as one has taken long. */
bool workqueue_delays(struct workqueue *wq, uid_t uid);

/* Events are to come. */
bool workqueue_expects_events(const struct workqueue *wq);
/* EVENT_WORK */
void workqueue_complete(struct event *event);

#endif
