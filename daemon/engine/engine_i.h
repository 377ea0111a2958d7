/* SPDX-License-Identifier: MIT */
/*
 * The parts of the engine, lowest first: the contexts loaded on CPUs (loaded.c), executing and
 * posting commands (submit.c), resuming contexts (resume.c), CPUs without a context (cpu_scan.c),
 * events from other threads (complete.c), creation and end (engine.c); poll_all.c and revoke.c use
 * all of them. Session thread only.
 */
#ifndef ENGINE_ENGINE_I_H
#define ENGINE_ENGINE_I_H

#include <assert.h>

#include "daemon/authz/grants.h"
#include "daemon/engine/engine.h"
#include "daemon/percpu/budget.h"
#include "daemon/percpu/exec.h"
#include "daemon/percpu/worker.h"
#include "daemon/percpu/workqueue.h"
#include "daemon/task/task_registry.h"

struct cpu_scan;

/* Time until the next attempt after a failure to resume. */
#define RESUME_RETRY_NS 1000000000ULL

struct engine {
	struct backend *be;
	struct event_queue events;
	struct engine_stats stats;
	struct budget budget;
	struct worker_shared shared;
	/* The contexts loaded on CPUs: those that have a worker. */
	struct list_head loaded;
	/* Background contexts that have yielded, in the order in which they did. */
	struct list_head yielded;
	/* Timer (CLOCK_MONOTONIC) for contexts that could not resume, and when it expires; 0:
	 * never. */
	int resume_timer;
	uint64_t resume_at;
	/* The number of watched contexts in @loaded. */
	unsigned watched;
	/* The scan that is under way. */
	struct cpu_scan *cpu_scan;
	struct task_registry *task_registry;
	/* Owned by daemon/fs; NULL: there are none. */
	const struct grants *grants;
	/* Workqueues for works that read /proc, and for works that may hang. */
	struct workqueue *lookups, *openings;
	/* Loads that wait until a conflicting context is destroyed, or the task registry is idle.
	 */
	struct queue waiting;
	/* No context can be loaded any more. */
	bool ending;
	/* The number of events to come; 0 only if none are. */
	unsigned expected;
	/* Executes commands on unloaded contexts. */
	struct executor x;
};

/* @n events will come, for which the session thread then waits beside requests. */
static inline void engine_expect(struct engine *eng, unsigned n)
{
	eng->expected += n;
}

/* @n of these have come, or will not. */
static inline void engine_expected(struct engine *eng, unsigned n)
{
	assert(eng->expected >= n);
	eng->expected -= n;
}

/* A job that may unload @ec is about to be posted: EVENT_UNLOADED may come. */
static inline void engine_expect_unloaded(struct engine *eng, struct engine_ctx *ec)
{
	ec->expected_events++;
	engine_expect(eng, 1);
}

/* It has come @n times less, or @ec is unloaded. */
static inline void engine_expected_unloaded(struct engine *eng, struct engine_ctx *ec, unsigned n)
{
	ec->expected_events -= n;
	engine_expected(eng, n);
}

/* A context loaded on a CPU, or that has yielded; NULL: there is none. */
struct engine_ctx *engine_any_loaded(const struct engine *eng);

/*
 * Submits the jobs in ec->requeued, now that the session thread owns @ec. CMD_DESTROY comes last,
 * even if it was not the last to be queued. True if there was a CMD_DESTROY.
 */
bool engine_submit_requeued(struct engine *eng, struct engine_ctx *ec);

/* Submits the loads in eng->waiting. */
void engine_submit_waiting(struct engine *eng);

/* Creates a worker for @cpu, which threads have given up, and makes it the owner of @ec. */
int engine_open_worker(struct engine *eng, struct engine_ctx *ec, unsigned cpu, struct err *e);
/* As task_registry_ops: may @job, a load on a thread, begin now; and give it the CPUs it needs. */
bool submit_admit(struct engine *eng, struct job *job);
int submit_make_way(struct engine *eng, struct job *job, struct err *e);
/* Posts @job to its context's worker. */
void engine_post(struct engine *eng, struct job *job);

/* Resumes background contexts whose CPU is free. */
void engine_resume_yielded(struct engine *eng);

/* Makes @w end. EVENT_WORKER_EXIT follows. */
void engine_retire_worker(struct engine *eng, struct worker *w);

/* Handles EVENT_CPU_SCAN. */
void cpu_scan_complete(struct event *ev);

#endif
