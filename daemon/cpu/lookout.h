/* SPDX-License-Identifier: MIT */
/*
 * How a worker sleeps whose context samples: such that it looks at its counters just after its
 * witness has seen who is running.
 *
 * The witness ticks only from one tick before the next look on. Its first tick then wakes the
 * worker: what that interrupted is who made the counter overflow, or at most one tick too late.
 */
#ifndef CPU_LOOKOUT_H
#define CPU_LOOKOUT_H

#include <poll.h>
#include <time.h>

#include "daemon/core/context.h"
#include "daemon/cpu/witness.h"

enum lookout_phase {
	LOOKOUT_IDLE,  /* until rung */
	LOOKOUT_FAR,   /* more than a tick before the next look */
	LOOKOUT_TICK,  /* until the next tick */
	LOOKOUT_TIMER, /* until a time that ticks do not change: they are not waited for */
};

struct lookout {
	struct witness *witness; /* NULL: the worker sleeps by itself */
	pfm_smpl_where_t where;  /* the newest it has seen */
	uint64_t tick_ns;
	uint32_t random, uses;          /* state of what makes ticks unsteady */
	uint64_t drawn;                 /* the period now */
	enum lookout_phase phase, next; /* @next: after LOOKOUT_FAR */
	struct timespec left, then;     /* how long it sleeps; @then: in the next phase */
	struct pollfd fds[2];           /* the bell, the witness */
};

enum lookout_woken { WOKEN_RUNG, WOKEN_LOOK, WOKEN_EVENTS };

int lookout_open(
	struct lookout *l, unsigned cpu, uint64_t tick_ns, bool events, int bell, struct err *e);
void lookout_close(struct lookout *l);

/* Prepares the next sleep, which lasts until @wake of @ctx; @now is CLOCK_MONOTONIC. */
void lookout_set(struct lookout *l, const struct context *ctx, struct wake wake, uint64_t now);
/* The next sleep is this short. */
void lookout_retry(struct lookout *l, uint64_t ns);

/* Sleeps until something is to be done: look at the counters, or have lookout_read() called. */
enum lookout_woken lookout_sleep(struct lookout *l);

/*
 * Hands the context what has happened to processes, and says who was running at @now. For the
 * context's owner. While the context is masked its buffer is left alone: events wait.
 */
void lookout_read(struct lookout *l, struct context *ctx, uint64_t now, pfm_smpl_where_t *where);

#endif
