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
 * All functions are for the session thread; only job->done is called elsewhere too.
 */
#ifndef CPU_ENGINE_H
#define CPU_ENGINE_H

#include <stdatomic.h>

#include "daemon/core/context.h"
#include "daemon/cpu/exec.h"
#include "daemon/cpu/queue.h"
#include "perfmonfs/backend.h"

struct engine;
struct worker;

/* News for the session thread. */
enum news_kind { NEWS_JOB, NEWS_UNLOADED, NEWS_HAPPENED, NEWS_WORKER_GONE, NEWS_SURVEY };
struct news {
	struct link link;
	enum news_kind kind;
	struct engine *arg; /* NEWS_SURVEY */
};

/* A context as the engine keeps it. Embed it; engine_tenant_init() it; then leave it alone. */
struct tenant {
	struct context ctx;   /* its owner's */
	struct worker *home;  /* the owner; NULL: the session thread, which alone writes this */
	atomic_uint inflight; /* jobs mailed to the worker and not finished; and news, if sent.
				 Whoever makes it go from 0 to 1 owns the context until it is
				 0 again */
	struct news news;     /* NEWS_UNLOADED */
	struct queue bounced; /* jobs to be submitted again once it is the session thread's */

	/* What others than its owner may know of it, as of its last command. */
	atomic_uint queued;     /* messages waiting */
	atomic_ullong changes;  /* how often its state has changed */
	atomic_ullong notified; /* how often a notification was sent */
	atomic_bool watched;    /* event() is wanted: engine_watch() */
	atomic_bool told;       /* NEWS_HAPPENED is on its way */
	struct news happened;
	void (*event)(struct tenant *t); /* some of these have changed; the session thread's */

	/* A followed thread of this context has made thread @tid: makes a context for it, with the
	 * same registers, or says why not. The session thread's. */
	struct tenant *(*child)(struct tenant *t, int tid, struct err *e);
	/* Nothing came of that, and CMD_DESTROY was submitted for what child() had made. The
	 * session thread's. */
	void (*unfollowed)(struct tenant *t, int tid, const struct err *e);

	void (*gone)(struct tenant *t); /* after CMD_DESTROY, when nobody uses it any more */
	unsigned expects;               /* what of it is in the engine's count of news to come */
	bool doomed;                    /* CMD_DESTROY was submitted: nothing may follow it */
	unsigned uid;                   /* for the sentence about a CPU that is taken, and cpus */
	int pid;                        /* who loaded it */
	const char *name;
	struct tenant *loaded_next; /* the engine's list of tenants that live on a CPU */
};

enum job_state { JOB_WAITING, JOB_BEGUN, JOB_CANCELLED };

/* A command under way. */
struct job {
	struct link link; /* in a worker's mail */
	struct news news; /* NEWS_JOB: done() is the session thread's to call */
	struct tenant *tenant;
	struct command cmd;
	int pid;        /* of the caller */
	int rc;         /* the outcome: 0 or -errno, */
	struct err err; /* with its sentence */
	/* Called exactly once, by the session thread or a worker; frees the job. After a
	 * CMD_DESTROY the tenant may be gone by then, unless the submitter keeps it alive. */
	void (*done)(struct job *job);
	bool here;        /* done() is to be called by the session thread; see needs_session() */
	atomic_int state; /* enum job_state */
	bool initial;     /* the load that its worker was made for */
	bool bounced;     /* not the worker's business: to be submitted again */
};

struct engine_stats {
	atomic_ullong commands, polls;
	struct exec_stats exec;
	unsigned workers; /* now alive */
};

/* Fails with -ENOMEM or -EMFILE. */
int engine_new(struct backend *be, struct engine **out, struct err *e);

/* Unloads every context, puts all registers back and frees. No job may be under way but those
 * of engine_drain(). */
void engine_free(struct engine *eng);

/* Destroys what is loaded and waits for it: the end of the daemon. */
void engine_drain(struct engine *eng);

struct backend *engine_backend(struct engine *eng);
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

/* The earliest time (ns of the backend) at which a loaded context wants attention; 0: never. */
uint64_t engine_wake(const struct engine *eng);

/* Has every worker look at its counters; done() of @after is called when all have. */
void engine_poll_all(struct engine *eng, void (*after)(void *arg), void *arg);

#endif
