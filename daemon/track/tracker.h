/* SPDX-License-Identifier: MIT */
/*
 * Contexts on threads, as the engine has them: loading and unloading them, and what their threads'
 * lives bring (birth, exec, the end). All functions are for the session thread.
 */
#ifndef TRACK_TRACKER_H
#define TRACK_TRACKER_H

#include "daemon/cpu/tenant.h"

struct tracker;

/* What it asks of the engine. */
struct tracker_ops {
	/* Another command, without a client; its done() is called by the session thread. */
	void (*submit)(void *arg, struct job *job);
	/* Those that have bounced off @t can be submitted again. */
	void (*resubmit)(void *arg, struct tenant *t);
	/* Nobody follows a thread any more, and all registers are put back. */
	void (*idle)(void *arg);
};

/* What it takes is only looked for when the first context is loaded. -ENOMEM. */
int tracker_new(struct backend *be, struct news_box *box, struct engine_stats *stats,
	const struct tracker_ops *ops, void *arg, struct tracker **out, struct err *e);
/* Loads that wait for a thread to be let go of are submitted again: the daemon is ending. */
void tracker_wait_no_more(struct tracker *tk);
/* When it is idle. After the first, there is no more news but what is on its way. */
void tracker_stop(struct tracker *tk);
void tracker_free(struct tracker *tk);

/*
 * Loads a context on a thread: 0 if that is under way, and job->done() follows. Then its tenant has
 * a rider, and the tracker is to get what is submitted for it. Errors: target.h, sched.h, tracer.h,
 * carrier.h; EBUSY: the thread is followed already; ENXIO: it may run on no CPU that is online.
 */
int tracker_load(struct tracker *tk, struct job *job, struct err *e);

void tracker_submit(struct tracker *tk, struct job *job);

/* @t is unloaded, and nothing of it is in flight any more. */
void tracker_unloaded(struct tracker *tk, struct tenant *t);

/* One of those whose end the daemon waits for: NULL: there is none. */
struct tenant *tracker_any(const struct tracker *tk);
/* Followed threads, or carriers that have yet to put registers back. */
bool tracker_idle(const struct tracker *tk);

/* News may come that somebody waits for. */
bool tracker_expects_news(const struct tracker *tk);

/* It has a carrier on @cpu. */
bool tracker_carries(const struct tracker *tk, unsigned cpu);

#endif
