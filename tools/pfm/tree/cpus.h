/* SPDX-License-Identifier: MIT */
/* The lines of MNT/cpus. */
#ifndef TOOLS_PFM_TREE_CPUS_H
#define TOOLS_PFM_TREE_CPUS_H

#include <stdbool.h>

#include "base/slice.h"

enum cpus_state {
	CPUS_ONLINE, /* that is all that this user may know */
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
	struct slice context; /* its name, for a context */
	struct slice yielded; /* the context that waits for that one to end; empty: none */
	int uid, pid;         /* its owner, and the thread that has loaded it */
	struct slice users;   /* for cpus_next_user() */
	struct slice error;   /* the errno of CPUS_UNREADABLE */
	struct slice type;    /* of the CPU, where CPUs have different PMUs; else empty */
};

/* False for a line that is neither about a CPU nor about a thread. */
bool cpus_parse(struct slice line, struct cpus_line *c);

/* The next counter that other software uses, by its PMC, and the sentence about that. False: none.
 */
bool cpus_next_user(struct cpus_line *c, unsigned *pmc, struct slice *by);

#endif
