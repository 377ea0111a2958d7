/* SPDX-License-Identifier: MIT */
/*
 * The worker of a target owns the context loaded on it. The worker of a CPU is pinned there. Each
 * thread that the backend can open has a worker of its own, which only executes commands: these may
 * wait for what the thread does, and commands for other threads must not.
 */
#ifndef PERCPU_WORKER_H
#define PERCPU_WORKER_H

#include "daemon/percpu/engine_ctx.h"

struct budget;
struct executor;
struct worker;

/* What all workers share. */
struct worker_shared {
	struct backend *be;
	struct event_queue *events;
	struct engine_stats *stats;
	struct budget *budget;
};

/* Creates the worker of thread @tid, or if that is 0, of @cpu. Fails with -ENOMEM or -EAGAIN. */
int worker_new(const struct worker_shared *shared, unsigned cpu, int tid, struct worker **out,
	struct err *e);
/* Tells the worker the new number of its thread, which has executed a program. */
void worker_set_tid(struct worker *w, int tid);
/* For a thread that is loaded with inherit or untraced: @gone is sent, once, when no thread has the
 * context's registers any more. To be called before the first worker_post(). */
void worker_set_gone(
	struct worker *w, void (*gone)(struct task_registry *reg, struct task_event *event));
/* The context of the worker, for gone(). */
struct engine_ctx *worker_gone_ctx(struct task_event *event);

void worker_post(struct worker *w, struct job *job);

/* To be called after the last worker_post(): the worker executes the jobs that it has, sends
 * EVENT_WORKER_EXIT and ends. */
void worker_retire(struct worker *w);

/* To be called after EVENT_WORKER_EXIT. */
void worker_free(struct worker *w);

/* Makes the worker read the counters now. */
void worker_kick(struct worker *w);

/* When the worker will read the counters without a kick (ns of the backend); 0: never. */
uint64_t worker_next_wake(const struct worker *w);

struct worker *worker_of_event(struct event *ev);
/* For the thread that changed the context's inflight from 0 to 1. */
struct executor *worker_executor(struct worker *w);

unsigned worker_cpu(const struct worker *w);

#endif
