/* SPDX-License-Identifier: MIT */
/* Events for the session thread: all threads send them, the session thread takes them. */
#ifndef PERCPU_EVENT_QUEUE_H
#define PERCPU_EVENT_QUEUE_H

#include <stdint.h>

#include "base/err.h"
#include "daemon/percpu/queue.h"

enum event_kind {
	EVENT_JOB,         /* A job is finished, or must be submitted again. */
	EVENT_UNLOADED,    /* A context is unloaded, and no job for it is under way. */
	EVENT_CHANGED,     /* A watched context has published a new status or messages. */
	EVENT_WORKER_EXIT, /* A worker has ended. */
	EVENT_CPU_SCAN,    /* A scan of the CPUs is complete. */
	EVENT_WORK,        /* A work of the workqueue has run. */
	EVENT_TASK         /* A struct task_event. */
};

/* Embedded in the struct that it is about. */
struct event {
	struct link link;
	enum event_kind kind;
};

/* EVENT_TASK: the session thread calls handle(). */
struct task_registry;
struct task_event {
	struct event event;
	void (*handle)(struct task_registry *reg, struct task_event *ev);
};

struct event_queue {
	struct queue queue;
	/* An eventfd: readable while there may be events in the queue. */
	int fd;
	/* Events that were taken before their senders wrote to fd. Session thread only. */
	uint64_t unsignalled;
};

/* Fails with EMFILE, ENFILE or ENOMEM. */
int event_queue_open(struct event_queue *events, struct err *e);
void event_queue_close(struct event_queue *events);

/* Sends @ev, which may be gone when this returns. For any thread. */
void event_send(struct event_queue *events, struct event *ev);

/* Takes all events, oldest first, linked by event.link; NULL: there are none. Session thread
 * only. */
struct link *event_queue_take(struct event_queue *events);

#endif
