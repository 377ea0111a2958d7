/* SPDX-License-Identifier: MIT */
/*
 * The sleep of a worker whose context samples. It ends just after the worker's ip_sampler has
 * sampled, so that an overflow is attributed to the right instruction.
 *
 * The ip_sampler ticks only from one tick before the counters are to be read. Its first tick wakes
 * the worker: what the tick interrupted made the counter overflow, or ran at most one tick later.
 */
#ifndef PERCPU_SAMPLE_TICK_H
#define PERCPU_SAMPLE_TICK_H

#include <poll.h>
#include <time.h>

#include "daemon/core/context.h"
#include "daemon/percpu/ip_sampler.h"

enum sample_tick_phase {
	SAMPLE_TICK_IDLE,  /* Until a wake-up. */
	SAMPLE_TICK_FAR,   /* Until one tick before the counters are to be read. */
	SAMPLE_TICK_NEXT,  /* Until the next tick. */
	SAMPLE_TICK_TIMER, /* Until a given time, whatever ticks. */
};

struct sample_tick {
	/* NULL: closed. */
	struct ip_sampler *ip_sampler;
	/* The newest sample. */
	pfm_smpl_where_t where;
	/* The requested period. */
	uint64_t tick_ns;
	/* The period now, drawn at random at and above tick_ns, and how often it was used. */
	uint64_t period_ns;
	uint32_t random, uses;
	enum sample_tick_phase phase;
	/* The phase after SAMPLE_TICK_FAR, and its timeout. */
	enum sample_tick_phase next_phase;
	struct timespec next_timeout;
	/* Timeout of this phase; not valid in SAMPLE_TICK_IDLE. */
	struct timespec timeout;
	/* The wake-up descriptor and the ip_sampler. */
	struct pollfd fds[2];
};

/* Why sample_tick_sleep() returned. */
enum sample_tick_wake {
	WOKEN_KICKED, /* By the wake-up descriptor, or by a signal. */
	WOKEN_TICK,   /* The counters must be read. */
	WOKEN_EVENTS  /* sample_tick_read() must be called, to make room for more events. */
};

/* Opens a sampler, which replaces one that is open. Fails as ip_sampler_new(), and keeps the old
 * one then. @wakeup_fd: an eventfd, or -1. */
int sample_tick_open(struct sample_tick *st, unsigned cpu, const struct ip_sampler_conf *conf,
	int wakeup_fd, struct err *e);
void sample_tick_close(struct sample_tick *st);

/* Prepares the next sleep, which lasts until @wake of @ctx. @now: CLOCK_MONOTONIC. */
void sample_tick_arm(
	struct sample_tick *st, const struct context *ctx, struct wake wake, uint64_t now);
/* Limits the next sleep to @ns. */
void sample_tick_retry(struct sample_tick *st, uint64_t ns);

enum sample_tick_wake sample_tick_sleep(struct sample_tick *st);

/*
 * Passes the events of processes to @ctx, and sets @where to the thread that was running at @now.
 * For the owner of @ctx. While @ctx is masked, its buffer must not change, so the events wait.
 */
void sample_tick_read(
	struct sample_tick *st, struct context *ctx, uint64_t now, pfm_smpl_where_t *where);

#endif
