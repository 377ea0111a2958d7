/* SPDX-License-Identifier: MIT */
/*
 * A CPU's carrier: a SCHED_FIFO thread there that is woken whenever a followed thread comes or
 * goes, and puts that thread's context into the CPU's registers, or takes it out of them. Nothing
 * counts while it runs: each time it wakes it stops the counters first, and the last thing before
 * it sleeps is to start them.
 */
#ifndef TRACK_CARRIER_H
#define TRACK_CARRIER_H

#include "daemon/track/rider.h"
#include "daemon/track/sched.h"
#include "daemon/track/tracer.h"

struct carrier;
struct tracker;

/* What all carriers share. */
struct track {
	struct backend *be;
	struct engine_stats *stats;
	struct news_box *box;
	struct sched *sched;
	struct tracer *tracer;
	struct seat *seats;                           /* SCHED_SLOTS */
	_Atomic(struct carrier *) carriers[CPUS_MAX]; /* the session thread makes and frees them */
};

/* -ENOMEM, -EAGAIN; what it needs of its CPU it finds out when it is first tried. */
int carrier_new(struct track *tr, unsigned cpu, struct carrier **out, struct err *e);

/*
 * Sees to it that what @ctx needs can be had on that CPU, and takes it; @news tells the session
 * thread when there is an outcome. @ctx is the carrier's until then. EBUSY: a register is held;
 * ENXIO: offline; EPERM: no SCHED_FIFO; EIO: the CPU lacks what the PMCs ask for.
 */
struct carrier_try {
	struct link link;
	struct track_news news;
	struct context *ctx; /* NULL: it is only to be told who ends there */
	int rc;
	struct err err;
};
void carrier_try(struct carrier *c, struct carrier_try *t);

void carrier_mail(struct carrier *c, struct job *job);

/* Has it look who runs on its CPU. */
void carrier_prod(struct carrier *c);

/* Puts the registers back and ends; then free it when @gone is told. No rider keeps it. */
void carrier_retire(struct carrier *c);
void carrier_free(struct carrier *c);
struct carrier *carrier_of_news(struct track_news *n);

/* What is to be done with the news of one that has ended; see tracker.c. */
void tracker_carrier_gone(struct tracker *tk, struct track_news *n);

#endif
