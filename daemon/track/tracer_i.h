/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the tracer know about each other. All of it is the tracer's thread's, but for
 * what the lock guards.
 */
#ifndef TRACK_TRACER_I_H
#define TRACK_TRACER_I_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "daemon/cpu/queue.h"
#include "daemon/track/tracees.h"
#include "daemon/track/tracer.h"

struct tracer {
	const struct tracer_ops *ops;
	void *arg;
	pthread_t thread;
	pid_t tid; /* its own */
	atomic_bool quit;
	int sigchld, bell;     /* signalfd; eventfd */
	struct queue seizures; /* asked for */

	pthread_mutex_t lock; /* never held over ptrace or callbacks; it guards */
	pthread_cond_t seized;
	uint64_t hurry_until; /* whoever waits for a seizure does so for a short time; theirs */
	struct tracees all;   /* this table, and what a tracee says it guards there, */
	struct tracee *due;   /* and those whose wants have changed */

	bool scan;        /* there may be reports that no signal has told of; */
	uint64_t scan_at; /* when to look for them at the earliest */

	uint64_t audit_at;        /* when to audit next; 0: no need to */
	size_t audited, to_audit; /* the last bucket that was, and how many are left */
};

/* tracer.c */

uint64_t tracer_now(void); /* CLOCK_MONOTONIC, ns */

void tracer_add(struct tracer *tr, struct tracee *t);
/* It has ended, or is not traced any more. */
void tracer_forget(struct tracer *tr, struct tracee *t);
/* Another number. */
void tracer_rename(struct tracer *tr, struct tracee *t, pid_t tid);
/* Changes what is wanted of it, at any later time; with the lock held. */
void tracer_want(struct tracer *tr, struct tracee *t, unsigned set, unsigned clear);

/* stops.c */

/* Deals with one report of the kernel, of @tid or (0) of any. false: there is none. */
bool tracer_look(struct tracer *tr, pid_t tid);
/* Does what is wanted of it as far as it can be done now. */
void tracer_settle(struct tracer *tr, struct tracee *t);
void tracer_let_go(struct tracer *tr, struct tracee *t);
/* Is this the number of a tracee of ours? */
bool tracer_traces(pid_t tid);

/* audit.c: what the kernel does not report. */

/* Something of the kind may happen, or have happened. */
void tracer_suspect(struct tracer *tr);
void tracer_audit(struct tracer *tr); /* if it is time to */
/* The kernel has said that @tid has ended, not to whom it would report it. */
void tracer_check_end(struct tracer *tr, pid_t tid);
bool tracer_is_zombie(pid_t tid);

/* seize.c */

void tracer_answer_seizures(struct tracer *tr);
/* Whoever waits for a seizure may have the tracer's thread give it up. */
int tracer_can_give_up(struct err *e);

#endif
