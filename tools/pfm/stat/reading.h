/* SPDX-License-Identifier: MIT */
/* The counts of a context with its children, or of several such. */
#ifndef TOOLS_PFM_STAT_READING_H
#define TOOLS_PFM_STAT_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/stat/plan.h"

struct reading {
	uint64_t values[EVENT_MAX];
	struct err lost[EVENT_MAX];    /* no: the value is lost, for the reason in its sentence */
	uint64_t active_ns[PLAN_SETS]; /* how long each event set was active */
	uint64_t elapsed_ns;           /* from the start to the stop, or to this reading */
	bool torn; /* the times are not those of the moment at which the counts were read */
	/* How long the places counted that this is of, all together: without gaps and masking for
	 * CPUs. */
	unsigned places;
	uint64_t counted_ns;
	unsigned yielding; /* of these, background contexts, which yield to others */
	uint64_t gaps;     /* theirs */
};

/*
 * Adds the counts of the context whose directory is @dir, and of its children. A lost count is no
 * failure. -EPROTO: what the tree says is not understood; others: the tree has gone.
 */
int reading_add(struct reading *r, const struct plan *p, int dir, struct err *e);

/* All counts of the plan are lost. */
void reading_lose_all(struct reading *r, const struct plan *p, const struct err *e);

/* Adds how often a background context has yielded. */
int reading_add_gaps(struct reading *r, int dir, struct err *e);

/* Adds those of the context alone. */
int reading_add_own(struct reading *r, const struct plan *p, int dir, struct err *e);

/*
 * Finds out whether threads are missing among the children, as one that could not be followed:
 * @missing says why then.
 */
int reading_missing(const struct plan *p, int dir, struct err *missing, struct err *e);

/* Does something with the child whose directory is @child, and which is @name in @list. Returns 1
 * if it has removed that. */
typedef int reading_child_fn(
	void *arg, const struct plan *p, int child, int list, const char *name, struct err *e);
/* To the first failure, or until many are removed: 1, and there may be more. */
int reading_each_child(
	void *arg, const struct plan *p, int dir, reading_child_fn *each, struct err *e);

/* 1: the thread of the child has ended, so that its counts stay as they are; 0: it has not. */
int reading_child_ended(int child, struct err *e);
/* Returns 1. */
int reading_remove_child(int list, const char *name, struct err *e);

/* Adds and removes those children whose threads have ended, as the number of contexts is limited.
 * 1: there may be more. */
int reading_collect(struct reading *r, const struct plan *p, int dir, struct err *e);

void reading_sum(struct reading *to, const struct reading *from);
/* What has been counted since @before. */
void reading_since(struct reading *to, const struct reading *before);

#endif
