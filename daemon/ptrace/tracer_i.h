/* SPDX-License-Identifier: MIT */
/*
 * The tracer's files, from the bottom up: its table of tracees (tracees.c), stops and their reasons
 * (stops.c), ends that the kernel does not report (liveness.c), attaching (seize.c), and its thread
 * (tracer.c). A file calls only those before it. Everything belongs to the tracer's thread, except
 * for what the lock guards.
 */
#ifndef PTRACE_TRACER_I_H
#define PTRACE_TRACER_I_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "base/hash.h"
#include "base/list.h"
#include "daemon/percpu/queue.h"
#include "daemon/ptrace/tracer.h"

enum { TRACER_LIVENESS_NS = 250000000 }; /* between liveness checks */

/* Orders for a tracee. */
enum {
	WANT_INITIAL_STOP = 1, /* stay stopped until tracer_cont() */
	WANT_STOP = 2,         /* stop until tracer_resume() */
	WANT_DETACH = 4,       /* detach */
};

struct tracee {
	struct hash_node node; /* tracer.tracees, by tid */
	pid_t tid;

	/* For the tracer's thread only. */
	long options;          /* of PTRACE_SEIZE; 0 for a child that the kernel has attached */
	bool known;            /* ops know it; false for a child whose parent's event is missing */
	bool stopped;          /* in a ptrace-stop */
	bool group;            /* that is a group-stop: it must not run */
	bool interrupted;      /* PTRACE_INTERRUPT is under way */
	unsigned char missing; /* how many liveness checks in a row have not found it */
	unsigned char late;    /* how many liveness checks have found it not yet detached */
	const struct tracer_attach *joined; /* the last request that joined() was called for */

	/* Under the tracer's lock. */
	unsigned wants;       /* WANT_ bits */
	struct list_head due; /* tracer.due, while a change of wants is unhandled */
};

/* A process that was in an exec for so long that an attempt to attach was given up. */
struct given_up {
	pid_t tgid;
	uint64_t at; /* CLOCK_MONOTONIC */
};
enum { GIVEN_UP_MAX = 64 };

struct tracer {
	const struct tracer_ops *ops;
	void *arg;
	pthread_t thread;
	pid_t tid; /* of the tracer's thread */
	atomic_bool quit;
	int sigchld;              /* signalfd */
	int wakeup_fd;            /* eventfd */
	struct queue attach_reqs; /* from any thread */

	timer_t cancel_timer; /* of the tracer's thread: cancels a PTRACE_SEIZE */
	bool has_cancel_timer;
	long try_ns;               /* how long a PTRACE_SEIZE may wait */
	struct list_head attaches; /* requests that were not tried yet */
	struct list_head repeated; /* requests that are tried again, one for each user */

	pthread_mutex_t lock; /* never held over ptrace() or callbacks */
	struct hash tracees;  /* written by the tracer's thread, with the lock */
	struct list_head due; /* tracees whose wants have changed; with the lock */
	struct given_up given_up[GIVEN_UP_MAX]; /* by tgid; with the lock */

	bool scan;        /* there may be reports without a signal */
	uint64_t scan_at; /* when to look for them at the earliest */

	uint64_t liveness_at;   /* next liveness check; 0: none */
	size_t liveness_bucket; /* the last bucket of tracees that was checked */
	size_t liveness_left;   /* buckets left in this round */
};

/* tracees.c */

struct tracee *tracer_find(const struct tracer *tr, pid_t tid); /* NULL: none */
/* Makes a tracee that is not in the table yet. NULL: no memory. */
struct tracee *tracee_new(pid_t tid);
void tracer_add(struct tracer *tr, struct tracee *t);
/* Removes and frees @t: it has ended, or is not traced any more. Calls ended() if it is known. */
void tracer_forget(struct tracer *tr, struct tracee *t);
void tracer_set_tid(struct tracer *tr, struct tracee *t, pid_t tid);
/* Changes the WANT_ bits of @t, so that tracer_next_due() returns it. Any thread, with the lock
 * held. */
void tracer_want(struct tracer *tr, struct tracee *t, unsigned set, unsigned clear);
/* The WANT_ bits of @t. Tracer's thread only. */
unsigned tracer_wants(struct tracer *tr, const struct tracee *t);
/* Takes a tracee whose wants have changed; NULL: none. */
struct tracee *tracer_next_due(struct tracer *tr);
/* Schedules a liveness check of all tracees: an end may go unreported. */
void tracer_suspect_exit(struct tracer *tr);

/* stops.c */

/* Handles one report of the kernel about @tid or, if that is 0, any tracee. False: there is none.
 */
bool tracer_wait_event(struct tracer *tr, pid_t tid);
/* Carries out what @t wants, if its state allows. */
void tracer_apply(struct tracer *tr, struct tracee *t);
void tracer_detach_now(struct tracer *tr, struct tracee *t);
/* True if the kernel has @tid as a tracee of this thread. */
bool tracer_traces(pid_t tid);

/* liveness.c */

/* Checks some buckets, if a check is due. */
void tracer_check_liveness(struct tracer *tr);
/* Call it when SIGCHLD has announced the end of @tid, but there is no report to wait for. */
void tracer_check_end(struct tracer *tr, pid_t tid);

/* seize.c */

/* Handles some requests. */
void tracer_handle_attaches(struct tracer *tr);
/* When to do that again (CLOCK_MONOTONIC, ns); UINT64_MAX: when there is a new request. */
uint64_t tracer_next_attach(const struct tracer *tr);

#endif
