/* SPDX-License-Identifier: MIT */
/*
 * The engine: who owns which context, and which CPU has a worker.
 *
 * One owner at a time. An unloaded context is the session thread's, the one that serves the
 * filesystem; a context loaded on a CPU is that CPU's worker's, from before its load begins
 * until the session thread has learned that it is unloaded again. Commands for it are mailed to
 * the worker, which answers them itself. While none is in flight the worker sleeps, and the
 * session thread may borrow the context to read it. So a context needs no lock.
 *
 * A context loaded on a thread is that of the carriers (daemon/track), one at a time.
 *
 * All functions are for the session thread; only job->done is called elsewhere too.
 */
#ifndef CPU_ENGINE_H
#define CPU_ENGINE_H

#include "daemon/cpu/tenant.h"
#include "perfmonfs/backend.h"

struct engine;

/* Fails with -ENOMEM or -EMFILE. */
int engine_new(struct backend *be, struct engine **out, struct err *e);

/* Unloads every context, puts all registers back and frees. No job may be under way but those
 * of engine_drain(). */
void engine_free(struct engine *eng);

/* Destroys what is loaded and waits for it: the end of the daemon. */
void engine_drain(struct engine *eng);

struct engine_stats *engine_stats(struct engine *eng);

int engine_tenant_init(struct engine *eng, struct tenant *t);
/* When it is gone, or was never submitted. */
void engine_tenant_free(struct tenant *t);

/* Has event() called from now on. Who then tests queued or changes misses nothing. */
void engine_watch(struct engine *eng, struct tenant *t);

/* Takes @job; done() follows, perhaps before this returns. */
void engine_submit(struct engine *eng, struct job *job);

/*
 * The caller of @job has gone away. True: it will have no effect, though done() still follows.
 * False: it has begun.
 */
bool engine_cancel(struct job *job);

/* Readable when engine_news() has something to do. */
int engine_news_fd(const struct engine *eng);

/* Whether there may be news before the next request: otherwise the session thread need not wait
 * for any. */
bool engine_expects_news(const struct engine *eng);

/* Takes what the workers report. Call it before each request too: what a worker reported before
 * it answered its client must be known when the client's next request comes. */
void engine_news(struct engine *eng);

/* Who is loaded on @cpu, or NULL. */
const struct tenant *engine_owner(const struct engine *eng, unsigned cpu);

/* How many contexts are loaded on CPUs. */
unsigned engine_on_cpus(const struct engine *eng);

/* Whether threads are followed on @cpu. */
bool engine_carries(const struct engine *eng, unsigned cpu);

/* The earliest time (ns of the backend) at which a loaded context wants attention; 0: never. */
uint64_t engine_wake(const struct engine *eng);

/* Has every worker look at its counters; done() of @after is called when all have. */
void engine_poll_all(struct engine *eng, void (*after)(void *arg), void *arg);

#endif
