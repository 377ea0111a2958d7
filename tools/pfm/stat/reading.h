/* SPDX-License-Identifier: MIT */
/* The counts of a context with its children, or the sums of several such contexts. */
#ifndef TOOLS_PFM_STAT_READING_H
#define TOOLS_PFM_STAT_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "tools/pfm/stat/plan.h"

struct reading {
	uint64_t values[EVENT_MAX];
	/* Why each value is lost, by loss_keep(); NULL: it is not. */
	const struct err *lost[EVENT_MAX];
	uint64_t active_ns[PLAN_SETS]; /* how long each event set was active */
	uint64_t elapsed_ns;           /* from the start to the stop, or to this reading */
	bool torn; /* the times were not taken at the moment at which the counts were read */
	/* The number of places in this reading, and the total time that they counted: for CPUs,
	 * without gaps and masking. */
	unsigned places;
	uint64_t counted_ns;
	/* The gaps of all contexts, and the time (ns) in them that was not counted. Not known while
	 * a count is lost. */
	uint64_t gaps, uncertain_ns;
};

/* Adds the counts of the context whose directory is @dir, and of its children. A lost count is no
 * failure. -EPROTO: a text of the tree is not understood; others: the tree is gone. */
int reading_add(struct reading *r, const struct plan *p, int dir, struct err *e);

/* Marks all counts of the plan as lost. */
void reading_lose_all(struct reading *r, const struct plan *p, const struct err *e);

/* Whether both have the same values and losses. */
bool reading_same(const struct reading *a, const struct reading *b);

/* Adds the counts of the context alone, without its children. */
int reading_add_own(struct reading *r, const struct plan *p, int dir, struct err *e);

/* Adds the counts of a line of a context's file threads, which are those of thread *@tid. @ended:
 * the number may be another thread's by now. */
int reading_add_thread(struct reading *r, const struct plan *p, struct slice line, int *tid,
	bool *ended, struct err *e);

/* Finds out whether the children lack a thread, as one that could not be followed: @missing then
 * has the reason. */
int reading_missing(const struct plan *p, int dir, struct err *missing, struct err *e);

/* Called for the child whose directory is @child, and which is @name in @list. Returns 1 if it has
 * removed the child. */
typedef int reading_child_fn(
	void *arg, const struct plan *p, int child, int list, const char *name, struct err *e);
/* Stops at the first failure, or after many removals: it then returns 1, and there may be more. */
int reading_each_child(
	void *arg, const struct plan *p, int dir, reading_child_fn *each, struct err *e);

/* Returns 1 if the child's thread has ended, so that its counts are final; 0 if it has not. */
int reading_child_ended(int child, struct err *e);
/* Removes the child @name of @list. Returns 1. */
int reading_remove_child(int list, const char *name, struct err *e);

/* Adds and removes the children whose threads have ended, as the number of contexts is limited.
 * Returns 1 if there may be more. */
int reading_collect(struct reading *r, const struct plan *p, int dir, struct err *e);

void reading_sum(struct reading *to, const struct reading *from);
/* Subtracts @before, which leaves the counts since then. */
void reading_since(struct reading *to, const struct reading *before);

#endif
