/* SPDX-License-Identifier: MIT */
/*
 * The parts of a carrier: its life and its mail (carrier.c), what it needs of its CPU (place.c) and
 * of the registers (gauge.c), having a context (seat.c), the way into the registers and out of them
 * (board.c), what is executed while they count (ride.c), and commands (jobs.c). All of it is the
 * carrier's thread's, but for carrier_come_first(), which its maker calls, too.
 */
#ifndef TRACK_CARRIER_I_H
#define TRACK_CARRIER_I_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "daemon/track/carrier.h"

enum { FD_SCHED, FD_BELL, FD_WITNESS, NFDS };

struct carrier {
	pthread_t thread;
	unsigned cpu;
	struct track *tr;
	struct queue mail, tries;
	atomic_uint orders;
	struct track_news gone;

	/* The thread's own. */
	struct pollfd fds[NFDS];
	unsigned nfds;
	bool offline;      /* its CPU was when it was last looked at */
	uint64_t retry_at; /* when to look again */
	bool open;         /* it has all that it needs of its CPU: */
	struct executor x;
	struct context scratch; /* whose hold is the CPU's */
	struct sched_cpu *now;  /* who runs here */
	struct lookout lookout; /* for those that sample */
	struct rider *boarded;
	unsigned kept;     /* slot of the one that was boarded last, and has yet to run; or 0 */
	unsigned refused;  /* slot of the thread that came while another was kept */
	unsigned refusals; /* since one has run that was boarded */
	unsigned late;     /* ->now->late, when it was boarded */
	uint64_t ran;      /* its slot's ->ran then, as far as it counts */
	bool armed;        /* a plan is left that starts its counters */
	struct timespec left;
	struct command in, out;
	struct err err;
};

static inline unsigned load_word(const sched_u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline struct seat *seat_of(const struct carrier *c, unsigned slot)
{
	return &c->tr->seats[slot];
}

/* ride.c: what is executed while @ctx's counters count. @timeout becomes what is left of it. */
long carrier_ride(struct carrier *c, struct context *ctx, struct timespec *timeout);
void carrier_put_in(struct carrier *c, struct context *ctx);
void carrier_take_out(struct carrier *c, struct context *ctx);

/* Commands for its own context, which nobody else waits for. */
int carrier_scratch(struct carrier *c, struct command *cmd, struct err *e);

/* place.c. Before all that programs may be: what runs before it does is counted as its thread's. */
int carrier_come_first(pthread_t thread);

/* Without its CPU, it is an ordinary thread: on another, it would be counted as a thread there. */
void carrier_step_back(void);

/* ENXIO: offline; EPERM: no SCHED_FIFO; ENOMEM; what the backend says. */
int carrier_open(struct carrier *c, struct err *e);
void carrier_shut(struct carrier *c);

/* The kernel has moved this thread, or ended the CPU's perf events: the CPU is offline, or was. Its
 * registers are not what they were. */
bool carrier_was_offline(const struct carrier *c);

int carrier_load_scratch(struct carrier *c, struct err *e);

/* For contexts that sample. Its samples are of whoever makes it: this thread's do not count. */
int carrier_open_witness(struct carrier *c, const struct context *ctx, struct err *e);

/* gauge.c: the CPU's hold has all that the sets of @ctx need, gauged. Errors as carrier_try()'s. */
int carrier_hold(struct carrier *c, struct context *ctx, struct err *e);
int carrier_prepare(struct carrier *c, struct context *ctx, struct err *e);

/* seat.c: false: it is not parked, or not any more. */
bool seat_make_busy(struct carrier *c, struct seat *s, unsigned word);
void seat_park(struct carrier *c, struct rider *r);

/* A moment passes. At last, other threads as urgent as this one may need this CPU: the carrier of
 * one that went offline. False: for longer, it must not. */
struct patience {
	unsigned spins;
	uint64_t until;
};
bool seat_wait(struct patience *p);

/*
 * For the thread that is about to run here. Whoever else has its context is putting it down just
 * now: it ran there before it came here; unless it has moved on since. NULL: it is not to be had.
 */
struct rider *seat_occupy(struct carrier *c, unsigned slot);

/* The context's number and its thread's state follow what the scheduler and the tracer know. */
void seat_follow_thread(struct carrier *c, struct rider *r);

/* Something has been done to it: others are to know. Before it is parked or boarded. */
void seat_settled(struct carrier *c, struct rider *r);
void seat_tell_of_death(struct carrier *c, unsigned slot);

/* board.c: the thread that runs here, if it is one of ours, gets its context. */
void carrier_board(struct carrier *c);

/* The counters stand still already. */
void carrier_put_down(struct carrier *c);

/* jobs.c: to whoever has the job's context, or it is done here. */
void carrier_deliver(struct carrier *c, struct job *job);

/* carrier.c: if another carrier is there. One that was just told to go is until all have gone. */
void carrier_prod_cpu(struct carrier *c, unsigned cpu);

#endif
