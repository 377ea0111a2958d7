/* SPDX-License-Identifier: MIT */
/*
 * The tracees of a tracer, by number. Only the tracer's thread changes this table; others look
 * into it, so that it does so under the tracer's lock.
 */
#ifndef TRACK_TRACEES_H
#define TRACK_TRACEES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What is wanted of a tracee. */
enum {
	WANT_STAND = 1,   /* not to run before tracer_go() */
	WANT_HOLD = 2,    /* to stand still until tracer_resume(), */
	WANT_TOLD = 4,    /* and held() has said that it does */
	WANT_RELEASE = 8, /* to be let go of */
	WANT_BURIED = 16, /* nothing more: another thread has collected its end */
};

struct tracee {
	struct tracee *next; /* in its bucket */
	pid_t tid;

	/* The tracer's thread's own: */
	bool known;          /* to others: until they are told who made it, it is not */
	bool stopped;        /* it stands still, and waits for us */
	bool group;          /* in that, its process is stopped by a signal: it must not run */
	bool interrupted;    /* it has been asked to stop, and has not since */
	unsigned char doubt; /* how many looks have found it amiss */

	/* Under the tracer's lock: */
	unsigned wants;
	bool due; /* it is in the list of those whose wants have changed, */
	struct tracee *next_due;
};

struct tracees {
	struct tracee **bucket;
	size_t nbuckets, n; /* buckets: a power of two */
};

int tracees_init(struct tracees *all); /* -ENOMEM */
void tracees_free(struct tracees *all);

struct tracee *tracees_find(const struct tracees *all, pid_t tid); /* NULL: none */
void tracees_add(struct tracees *all, struct tracee *t);
void tracees_remove(struct tracees *all, struct tracee *t);

#endif
