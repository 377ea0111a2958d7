/* SPDX-License-Identifier: MIT */
/* What the session thread's side of following threads shares among its files. */
#ifndef TRACK_TRACKER_I_H
#define TRACK_TRACKER_I_H

#include "daemon/track/carrier.h"
#include "daemon/track/tracker.h"

enum { TID_BUCKETS = 4096 };

/* A thread that the tracer is letting go of: only then can it be seized again. */
struct leaving {
	pid_t tid;
	struct queue loads; /* that wait for it */
	struct leaving *next;
};

struct tracker {
	struct track tr;
	const struct tracker_ops *ops;
	void *arg;
	struct executor x;    /* of contexts that no carrier has */
	struct rider *riders; /* all of them, */
	struct rider *by_tid[TID_BUCKETS];
	unsigned next_slot;
	struct leaving *leaving;
	struct queue gone; /* carriers that have ended, until all have */
};

/* The rider of thread @tid, or NULL. */
struct rider *rider_find(struct tracker *tk, pid_t tid);
/* One for @t, with a slot and a seat, but not seated. ENOMEM, ENOSPC. */
int rider_new(struct tracker *tk, struct tenant *t, pid_t tid, struct rider **out, struct err *e);
/* -ENOMEM, -ESRCH. */
int principal_new(struct principal **out, struct job *load, struct err *e);
void principal_unref(struct principal *p);
void rider_free(struct tracker *tk, struct rider *r);
/* Its thread has another number. */
void rider_rename(struct tracker *tk, struct rider *r, pid_t tid);

/*
 * In two steps, and if one fails the thread is not followed, and its context as it was: has the
 * thread followed, and seizes it if @seize; loads its tenant, which nobody else has, by @load, and
 * starts it by @start unless that is NULL.
 */
int rider_follow(struct tracker *tk, struct rider *r, bool seize, struct err *e);
int rider_seat(struct tracker *tk, struct rider *r, struct command *load, struct command *start,
	struct err *e);
/* It has taken its seat, or (@rc < 0) does not and is freed: commands go on. */
void rider_come(struct tracker *tk, struct rider *r, int rc);
/* Has all carriers it keeps look who runs. */
void rider_prod(struct tracker *tk, const struct rider *r);
/* Its thread has ended, or may not be followed any more. */
void rider_end(struct tracker *tk, struct rider *r);
/* It has ended, or may not be followed any more, as the scheduler knows. */
bool rider_is_dead(const struct tracker *tk, const struct rider *r);

/* Lets go of a thread. */
void tracker_release(struct tracker *tk, pid_t tid);
/* The one of that number, or NULL. */
struct leaving *tracker_leaving(struct tracker *tk, pid_t tid);
/* It has gone. */
void tracker_left(struct tracker *tk, struct leaving *l);

/* done() of commands without a client. */
void tracker_job_done(struct job *job);

/* Carriers for all of @where. */
int tracker_man(struct tracker *tk, const struct cpus *where, struct err *e);

/* life.c: for the tracer. */
extern const struct tracer_ops tracker_life;
/* ... and seats: their threads have died. */
void tracker_died(struct tracker *tk, struct track_news *n);

#endif
