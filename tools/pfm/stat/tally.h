/* SPDX-License-Identifier: MIT */
/* The counts of each scope and plan in all runs. */
#ifndef TOOLS_PFM_STAT_TALLY_H
#define TOOLS_PFM_STAT_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/stat/counts.h"
#include "tools/pfm/stat/runs.h"
#include "tools/pfm/stat/scope.h"

struct tally {
	const struct scope *scope; /* NULL: the sum of all */
	struct scope room;         /* storage for @scope */
	const struct plan *plan;
	unsigned pass;        /* the last one that counted it */
	bool counted;         /* in this run */
	struct counts counts; /* of all passes of this run */
	uint64_t elapsed_ns;  /* of the last pass of this run */
	struct runs runs;
};

struct tallies {
	struct tally **all; /* in the order in which they were first counted */
	unsigned n;
	unsigned pass;
	unsigned before; /* how many there were when the pass began */
	unsigned next;   /* where to search first, as threads come in the order of the last pass */
};

/* Begins a pass. A thread of this pass may be one of those before, in a new context. */
void tallies_pass(struct tallies *t);

/* Adds the counts of a pass; there are at most @nruns runs. -ENOMEM. */
int tallies_take(struct tallies *t, const struct scope *scope, const struct counts *c,
	const struct plan *p, uint64_t elapsed_ns, uint64_t nruns, struct err *e);
/* Clears the counts of this run. The values in @runs stay. */
void tallies_clear(struct tallies *t);
void tallies_free(struct tallies *t);

#endif
