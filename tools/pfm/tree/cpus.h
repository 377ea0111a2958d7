/* SPDX-License-Identifier: MIT */
/* The lines of MNT/cpus. */
#ifndef TOOLS_PFM_TREE_CPUS_H
#define TOOLS_PFM_TREE_CPUS_H

#include <stdbool.h>

#include "base/slice.h"

enum cpus_state {
	CPUS_ONLINE, /* this user may know no more */
	CPUS_OFFLINE,
	CPUS_FREE,
	CPUS_CONTEXT, /* a context is loaded there */
	CPUS_THREADS, /* threads are followed there */
	CPUS_IN_USE,  /* other software has some of its counters: cpus_next_user() */
	CPUS_UNREADABLE,
};

struct cpus_line {
	bool thread; /* the line is about a context on a thread */
	int id;      /* of the CPU or thread */
	enum cpus_state state;
	struct slice context; /* the name of the context */
	struct slice yielded; /* the context that waits for this one to end; empty: none */
	int uid, pid;         /* its owner, and the thread that loaded it */
	struct slice users;   /* for cpus_next_user() */
	struct slice error;   /* the errno of CPUS_UNREADABLE */
	struct slice type;    /* of the CPU, if CPUs have different PMUs; else empty */
};

/* Parses a line. False: it is about neither a CPU nor a thread. */
bool cpus_parse(struct slice line, struct cpus_line *c);

/* Gets the PMC of the next counter that other software uses, and the sentence about it. False:
 * there is none. */
bool cpus_next_user(struct cpus_line *c, unsigned *pmc, struct slice *by);

#endif
