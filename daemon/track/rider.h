/* SPDX-License-Identifier: MIT */
/*
 * A context that is loaded on a thread, and where it is. It is the carriers', one at a time:
 *
 *   parked    nobody's: whoever makes it busy has it
 *   busy      a carrier's that does something with it, and will park or board it at once
 *   boarded   in the registers of a carrier's CPU, where its thread runs: that carrier's
 *
 * As the carriers are SCHED_FIFO threads that nothing ordinary keeps from running, one may wait
 * for another that is busy. The session thread only takes what is in nobody's hands: before a
 * rider takes its seat, and after it has left it.
 */
#ifndef TRACK_RIDER_H
#define TRACK_RIDER_H

#include "daemon/cpu/tenant.h"
#include "daemon/track/sched_shared.h"
#include "daemon/track/target.h"

enum seat_state { SEAT_EMPTY, SEAT_PARKED, SEAT_BUSY, SEAT_BOARDED };

/* There is one for each slot of the scheduler's, for ever. */
struct seat {
	atomic_uint word;       /* seat_word() */
	atomic_uint missed;     /* enum missed: the thread ran, and was not counted */
	atomic_bool dying;      /* that its thread has ended is told, */
	struct track_news died; /* by this */
	struct rider *rider;    /* whoever has made it busy may look */
};

#define RAN_UNKNOWN UINT64_MAX

enum missed { MISSED_LATE = 1 << 0 };

static inline unsigned seat_word(enum seat_state state, unsigned cpu)
{
	return cpu << 2 | state;
}

static inline enum seat_state seat_state(unsigned word)
{
	return (enum seat_state)(word & 3);
}

static inline unsigned seat_cpu(unsigned word)
{
	return word >> 2;
}

/* For whom threads are followed: a context that was loaded, and all that descend from it. */
struct principal {
	unsigned refs; /* the session thread's, as all of it */
	struct credentials who;
	struct rights rights;
	struct limits limits; /* what was set then */
};

struct rider {
	struct tenant *tenant;
	struct tenant *root; /* under which its descendants are: its own, or that of the thread that
				all this began with */
	unsigned slot;
	struct cpus wanted; /* where it is to be followed: where nobody does its counts are lost */
	bool confined;      /* that is not everywhere */
	struct cpus where;  /* CPUs with carriers that do: of these, which were online */
	bool traced;
	bool guarded; /* nobody but the scheduler sees what it executes */
	bool held;    /* its thread is to stand still; whoever has the context */
	uint64_t ran; /* as its slot's, so far as it has been accounted; RAN_UNKNOWN: counting
			 begins when it is boarded. Whoever has the context */

	/* The session thread's. */
	pid_t tid; /* 0: another one has it by now */
	bool follow;
	struct job *end; /* CMD_END; NULL: it is under way */
	struct principal *whose;
	bool over;          /* the tracer has told of its end: it is not to be released */
	bool coming;        /* it has yet to take its seat: commands wait */
	struct queue loads; /* that wait for it to be gone */
	struct rider *next, *tid_next;
};

#endif
