/* SPDX-License-Identifier: MIT */
/*
 * The engine: which thread owns which context, and which CPU has a worker.
 *
 * Each context has one owner at a time. The session thread, which serves the filesystem, owns
 * unloaded contexts. A context loaded on a CPU belongs to that CPU's worker, from before its load
 * begins until the session thread handles its EVENT_UNLOADED. Commands for it are posted to the
 * worker, which answers them itself. While no job is under way the worker sleeps, and the session
 * thread may borrow the context to read it. So a context needs no lock.
 *
 * A context loaded on a thread belongs to one ctxsw thread at a time (daemon/ctxsw).
 *
 * All functions are for the session thread; only job->done() is called by other threads, too.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "daemon/percpu/engine_ctx.h"
#include "perfmonfs/backend.h"

struct engine;
struct grants;
struct revocation;
struct work;

/* Fails with -ENOMEM or -EMFILE. */
int engine_new(struct backend *be, struct engine **out, struct err *e);

/* Calls engine_drain() and frees @eng. Only jobs of engine_drain() may be under way. */
void engine_free(struct engine *eng);

/* Ends the works that wait, and those that may hang: their done() answers the requests. Later works
 * are run at once. */
void engine_stop_works(struct engine *eng);

/* Calls engine_stop_works(), unloads all contexts, restores all registers and waits for that.
 * Nothing is loaded afterwards. */
void engine_drain(struct engine *eng);

struct engine_stats *engine_stats(struct engine *eng);

int engine_ctx_init(struct engine *eng, struct engine_ctx *ec);
/* To be called after destroyed(), or if @ec was never submitted. */
void engine_ctx_free(struct engine_ctx *ec);

/* Enables ops->on_change(). A caller that tests status or messages afterwards misses no change. */
void engine_watch(struct engine *eng, struct engine_ctx *ec);

/* Takes @job. done() is called, possibly before this returns. */
void engine_submit(struct engine *eng, struct job *job);

/* Cancels @job. True: it will have no effect; done() is still called. False: it has begun. */
bool engine_cancel(struct job *job);

/* Whether an interrupt of @job's requester may be the daemon's own: the tracer stops a thread to
 * detach it. */
bool engine_interrupts(struct engine *eng, const struct job *job);

/* workqueue_submit(), workqueue_cancel() and workqueue_delays() on the engine's workqueues. */
int engine_work(struct engine *eng, struct work *w, struct err *e);
bool engine_cancel_work(struct engine *eng, struct work *w);
bool engine_delays_work(struct engine *eng, unsigned uid);

/* A descriptor that is readable while engine_handle_events() has something to do. */
int engine_event_fd(const struct engine *eng);

/* False if no event will come before the next request, so that the session thread need not wait for
 * any. */
bool engine_expects_events(const struct engine *eng);

/* Handles the events from other threads. Call it before each request, too: an event that a worker
 * sent before it answered a request must be handled before the same client's next request. */
void engine_handle_events(struct engine *eng);

/* The context loaded on @cpu, or NULL. */
struct engine_ctx *engine_owner(const struct engine *eng, unsigned cpu);

/* The CPU of @ec, if it is loaded on one. */
unsigned engine_cpu(const struct engine_ctx *ec);

/* Where @ec is loaded: *@cpu is -1 unless on a CPU, and *@tid 0 unless on a thread. */
void engine_target(const struct engine_ctx *ec, int *cpu, int *tid);

/* The context that was the first to yield @cpu, or NULL. */
const struct engine_ctx *engine_yielded(const struct engine *eng, unsigned cpu);

/* A descriptor that is readable when engine_resume() has something to do; -1: it has nothing. */
int engine_resume_fd(const struct engine *eng);
/* Tries again to resume contexts that could not, as their CPU was offline or a counter in use. */
void engine_resume(struct engine *eng);

/* The number of contexts loaded on CPUs. */
unsigned engine_on_cpus(const struct engine *eng);

/* Calls @fn for each context on a thread. */
void engine_each_on_thread(const struct engine *eng,
	void (*fn)(void *arg, const struct engine_ctx *ec, int tid), void *arg);

/* True if threads are monitored on @cpu. */
bool engine_has_ctxsw(const struct engine *eng, unsigned cpu);

/* The earliest time (ns of the backend) at which counters must be read; 0: never. */
uint64_t engine_wake(const struct engine *eng);

/* Sets the grants that loads are checked against when they are executed, as their requests may have
 * waited since the first check. To be called before the first load by a grant. */
void engine_set_grants(struct engine *eng, const struct grants *grants);

/* Allocates the memory for engine_revoke(), which frees it. To be called before the grants change.
 * Returns NULL if there is no memory. */
struct revocation *revocation_new(const struct engine *eng);
/* Unloads the contexts whose load needs a grant that no longer holds at @now (Unix time, s). Calls
 * @done when all are unloaded, possibly before this returns. */
void engine_revoke(
	struct engine *eng, struct revocation *r, uint64_t now, void (*done)(void *arg), void *arg);

/* Makes every worker read its counters; calls @done when all have. */
void engine_poll_all(struct engine *eng, void (*done)(void *arg), void *arg);

#endif
