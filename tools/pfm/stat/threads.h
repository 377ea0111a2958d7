/* SPDX-License-Identifier: MIT */
/* The counts of each thread of a context with children. */
#ifndef TOOLS_PFM_STAT_THREADS_H
#define TOOLS_PFM_STAT_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/reading.h"

struct thread_counts {
	int tid;
	/* The inode number of its context's directory, which no other context ever has. */
	ino_t context;
	bool ended;          /* the counts are the last ones */
	bool reported;       /* all that there will be */
	struct reading now;  /* since the start */
	struct reading last; /* at the end of the interval before */
};

struct threads {
	struct thread_counts **all; /* in the order in which their contexts were made */
	unsigned n;
};

/*
 * Reads the counts of all threads that have not ended. @dir is the context's directory, and @tid
 * that of its own thread.
 */
int threads_read(struct threads *t, const struct plan *p, int dir, int tid, struct err *e);

/* Keeps the counts of threads that have ended, and removes their contexts. 1: there may be more. */
int threads_collect(struct threads *t, const struct plan *p, int dir, struct err *e);

void threads_free(struct threads *t);

#endif
