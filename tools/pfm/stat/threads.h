/* SPDX-License-Identifier: MIT */
/* The counts of each thread of a context with children. */
#ifndef TOOLS_PFM_STAT_THREADS_H
#define TOOLS_PFM_STAT_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/reading.h"

struct thread_counts {
	int tid;
	/* The inode number of the thread's context directory, which no other context ever has. */
	ino_t context;
	unsigned line;       /* of several threads that have that context together */
	bool ended;          /* the number may be another thread's */
	bool reported;       /* it has been reported since it ended */
	uint64_t began;      /* threads_began(); 0: not known */
	bool sure;           /* @began is not that of a later thread with this number */
	struct reading now;  /* since the start */
	struct reading last; /* at the end of the previous interval */
};

struct threads {
	/* sorted by inode number, the order in which contexts were created, or by line */
	struct thread_counts **all;
	unsigned n;
};

/* Reads the counts of all threads that have not ended. @dir is the context's directory, and @tid
 * the number of the thread that it counts itself. */
int threads_read(struct threads *t, const struct plan *p, int dir, int tid, struct err *e);

/* Reads the counts of all threads that one context counts together. */
int threads_read_lines(struct threads *t, const struct plan *p, int dir, struct err *e);

/* Keeps the counts of threads that have ended, and removes their contexts. Returns 1 if there may
 * be more. */
int threads_collect(struct threads *t, const struct plan *p, int dir, struct err *e);

/* When thread @tid began, in clock ticks since the boot; 0: there is none. */
uint64_t threads_began(int tid);
/* Finds out when threads began that have not ended. Another thread may have got the number of one:
 * threads_keep_began(), after the threads were read again, drops what that may be wrong for. */
void threads_find_began(struct threads *t);
void threads_keep_began(struct threads *t);

void threads_free(struct threads *t);

#endif
