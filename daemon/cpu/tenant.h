/* SPDX-License-Identifier: MIT */
/* Contexts, commands under way and news, as those who execute commands hand them to each other. */
#ifndef CPU_TENANT_H
#define CPU_TENANT_H

#include <stdatomic.h>

#include "daemon/core/context.h"
#include "daemon/cpu/exec.h"
#include "daemon/cpu/queue.h"

struct rider;
struct worker;

/* News for the session thread. */
enum news_kind {
	NEWS_JOB,
	NEWS_UNLOADED,
	NEWS_HAPPENED,
	NEWS_WORKER_GONE,
	NEWS_SURVEY,
	NEWS_TRACK
};
struct news {
	struct link link;
	enum news_kind kind;
};

/* NEWS_TRACK: what is to be done with it. */
struct tracker;
struct track_news {
	struct news news;
	void (*take)(struct tracker *tk, struct track_news *n);
};

/* Where it is sent to; one for all. */
struct news_box {
	struct queue queue;
	int fd; /* eventfd */
};

void news_send(struct news_box *box, struct news *n);

/* A context as the engine keeps it. Embed it; engine_tenant_init() it; then leave it alone. */
struct tenant {
	struct context ctx;   /* its owner's */
	struct worker *home;  /* the owner, of one on a CPU; NULL: the session thread, which alone
				 writes this and the next */
	struct rider *rider;  /* loaded on a thread, or about to be: see daemon/track */
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
	void (*trouble)(
		struct tenant *t, const struct err *e); /* nobody has asked, but is to know */
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
	bool here; /* done() is to be called by the session thread; see command_needs_session() */
	atomic_int state; /* enum job_state */
	bool initial;     /* the load that its worker was made for */
	bool tracked;     /* mailed by the tracker, of which news always may come */
	bool bounced;     /* not the worker's business: to be submitted again */
};

int job_cancelled(struct job *job);

/* Whoever carries @job out begins by this. EINTR: it was cancelled before. Inline: a worker does it
 * while counters count. */
static inline int job_begin(struct job *job)
{
	return atomic_exchange(&job->state, JOB_BEGUN) == JOB_WAITING ? 0 : job_cancelled(job);
}

/* Commands about what only the session thread has: done() is its to call, whoever executes them. */
static inline bool command_needs_session(enum cmd_verb verb)
{
	return verb == CMD_LOAD || verb == CMD_EVTSET_NEW || verb == CMD_EVTSET_DELETE ||
	       verb == CMD_MESSAGES || verb == CMD_LIVE || verb == CMD_FORMAT ||
	       verb == CMD_SETUP || verb == CMD_CLONE;
}

struct engine_stats {
	atomic_ullong commands, polls;
	struct exec_stats exec;
	unsigned workers; /* now alive */

	/* Of contexts on threads (daemon/track). */
	unsigned carriers, threads; /* now alive, and followed */
	atomic_ullong ins, outs;    /* contexts put into registers, and taken out of them; */
	atomic_ullong waits;        /* and how often a carrier had to wait for another; */
	atomic_ullong late;         /* or came too late, so that counts were lost */
	atomic_ullong untold;       /* ... because the kernel had not told of a switch */
	atomic_ullong carry;        /* the last gauge: what carrying adds to a user-level count */
};

/* Makes known what others may know of @t; true if that has changed. Its owner's. */
bool tenant_publish(struct tenant *t);
/* The same, and whoever watches it is told. */
void tenant_settled(struct tenant *t, struct news_box *box);

/*
 * One job less is in flight; @t may be gone after this. The last one to leave an unloaded tenant
 * hands its place over to the news of it, so that the session thread finds either somebody still
 * in flight or nobody who would touch the tenant again.
 */
void tenant_leave(struct tenant *t, struct news_box *box, bool unloaded);

#endif
