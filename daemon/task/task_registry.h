/* SPDX-License-Identifier: MIT */
/*
 * Contexts on threads, as the engine sees them: loading and unloading, commands, and what happens
 * to their threads (clone, exec, exit). All functions are for the session thread.
 */
#ifndef TASK_TASK_REGISTRY_H
#define TASK_TASK_REGISTRY_H

#include "daemon/percpu/engine_ctx.h"

struct task_registry;
struct work;
struct worker_shared;

/* Calls back into the engine. */
struct task_registry_ops {
	/* Submits a command without a client; the session thread calls its done(). */
	void (*submit)(void *arg, struct job *job);
	/* Asks again whether @job, a load on a thread, may begin, after time has passed. False: it
	 * was answered or waits, and is no longer the registry's. */
	bool (*admit)(void *arg, struct job *job);
	/* Makes background contexts give way on CPUs where the thread of the load @job may run. 1:
	 * @job waits for that, and is submitted again. ENOMEM. */
	int (*make_way)(void *arg, struct job *job, struct err *e);
	/* Submits the requeued jobs of @ec. */
	void (*resubmit)(void *arg, struct engine_ctx *ec);
	/* Submits the loads that wait for registers: no thread is followed any more and all
	 * registers are restored, or the registers of a requested CPU are. */
	void (*resubmit_loads)(void *arg);
	/* Ends a worker that has executed its last job. */
	void (*retire)(void *arg, struct worker *w);
	/* workqueue_submit() */
	int (*work)(void *arg, struct work *w, struct err *e);
};

/* Opens nothing; the first load does. -ENOMEM. */
int task_registry_new(const struct worker_shared *workers, const struct task_registry_ops *ops,
	void *arg, struct task_registry **out, struct err *e);
/* Submits the loads that wait for a thread to be detached or for other loads, when the daemon shuts
 * down. */
void task_registry_stop_waiting(struct task_registry *reg);
/* Ends the tracer of an idle registry. Only events that were sent before may still arrive. */
void task_registry_stop(struct task_registry *reg);
void task_registry_free(struct task_registry *reg);

/*
 * Starts loading a context on a thread. 0: job->done() follows, if not before this returns; from
 * then on its engine_ctx has a task_ctx, and its commands go to task_submit(). Errors: those of
 * target.h, sched.h, tracer.h and ctxsw.h; EBUSY: the thread is followed already; ENXIO: none of
 * its CPUs is online. ENOMEM: returned, and in job->rc; job->done() does not follow.
 */
int task_load(struct task_registry *reg, struct job *job);

/* Submits a command for a context that has a task_ctx. */
void task_submit(struct task_registry *reg, struct job *job);

/* The worker from which the session thread may borrow the context, to read it; NULL: none, as in a
 * load, and where a read takes microseconds for each of many threads. */
struct worker *task_lender(const struct task_ctx *task);

/* Ends following the thread, after @ec was unloaded and its last job has ended. */
void task_unloaded(struct task_registry *reg, struct engine_ctx *ec);

/* Any context on a thread; NULL: none. */
struct engine_ctx *task_any(const struct task_registry *reg);
/* The id of the context's thread; 0: another thread has the id by now. */
int task_tid(const struct task_ctx *task);
/* Calls @fn for each context on a thread. */
void task_each(const struct task_registry *reg,
	void (*fn)(void *arg, const struct engine_ctx *ec, int tid), void *arg);
/* No threads are followed, and no ctxsw thread runs. */
bool task_idle(const struct task_registry *reg);

/* The tracer is about to stop thread @tid, to detach it. */
bool task_is_detaching(struct task_registry *reg, pid_t tid);

/* Events that a client waits for may still come. */
bool task_expects_events(const struct task_registry *reg);

/*
 * Gives the registers of @cpu to a context of @uid that is about to be loaded there. False: the
 * CPU's ctxsw thread has yet to restore them; resubmit_loads() follows. Contexts on threads that
 * run there lose their counts until task_return_cpu(). Call it only while the registry is idle or
 * has contexts.
 */
bool task_take_cpu(struct task_registry *reg, unsigned cpu, unsigned uid);
void task_return_cpu(struct task_registry *reg, unsigned cpu);
/* task_take_cpu() has returned true, or would now, and task_return_cpu() was not called since. */
bool task_has_given_cpu(const struct task_registry *reg, unsigned cpu);

/* @cpu has a ctxsw thread. */
bool task_covers_cpu(const struct task_registry *reg, unsigned cpu);

#endif
