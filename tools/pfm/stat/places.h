/* SPDX-License-Identifier: MIT */
/* Where events are counted: a context for each CPU, thread or process. */
#ifndef TOOLS_PFM_STAT_PLACES_H
#define TOOLS_PFM_STAT_PLACES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "tools/pfm/stat/place_options.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/reading.h"
#include "tools/pfm/stat/scope.h"
#include "tools/pfm/stat/threads.h"
#include "tools/pfm/tree/ctx.h"

struct place {
	enum place_kind kind;
	int id;                  /* of the thread, process or CPU */
	struct scope scope;      /* not used if there is one sum */
	const struct plan *plan; /* what is counted there */
	int package;             /* of the CPU; set by places_share_packages() */
	/* The kernel counts all threads of the process, and all that they create, in one context;
	 * for a command, from its next execve() on. */
	bool inherit;
	const char *flags; /* of the context, for its file flags; NULL: none */
	struct tree_ctx ctx;
	bool ended; /* the thread or process has ended */
	/* whose process it is, which may have ended before it is counted; NULL: it was named itself
	 */
	const char *cgroup;
	/* why a CPU that was offline is not counted again yet; away.no is 0 if it is counted */
	struct err away;
	struct reading collected; /* of children that have been removed */
	struct reading last;      /* at the end of the previous interval */
	struct reading since;     /* counted in this interval */
	struct threads threads;   /* used instead of these readings if each thread is a scope */
};

struct places {
	struct place *all;
	unsigned n;
	unsigned room; /* elements of @all */
};

int places_add(struct places *p, enum place_kind kind, int id, struct err *e);
/* Adds all places that the options name, as yet without plans. */
int places_add_list(
	struct places *p, const struct tree *t, const struct place_options *o, struct err *e);

/* Checks that the tree has places of this kind. -EINVAL: it has none. */
int places_check_tree(const struct place_options *o, const struct tree *t, struct err *e);

/* Sets the scopes of all places. */
int places_aggregate(struct places *p, enum aggregate how, struct err *e);

enum { PLACE_LOAD_ROOM = 48 };
/* Writes the command that loads a context on @id. */
void place_format_load(enum place_kind kind, int id, char load[static PLACE_LOAD_ROOM]);

/* Gives each place the plan for its CPU's PMU. Removes CPUs that have nothing to count. */
int places_plan(struct places *p, const struct tree *t, const struct plans *plans, struct err *e);

/* Removes the CPUs whose memory controllers are counted on another CPU of their package. -EINVAL:
 * such a CPU has other events to count. */
int places_share_packages(struct places *p, struct err *e);

/* Makes @e, the reason why @place is not measured, of @why. Returns -e->no. */
int place_explain(const struct place *place, const struct err *why, struct err *e);

/* Creates, programs and loads the context of @place. */
int place_load(struct place *place, const struct tree *t, struct err *e);
/* Loads the contexts of all places. */
int places_load(struct places *p, const struct tree *t, struct err *e);
int places_start(struct places *p, struct err *e);
/* Excludes the time since the start of a command's counters: the command is about to run. */
int places_begin(struct places *p, struct err *e);
/* Stops the places that have not ended. */
int places_stop(struct places *p, struct err *e);

/* Sets place->ended if the place has ended. Fails if its context is gone. */
int place_check(struct place *place, struct err *e);
/* If the counts in @r are lost because the CPU was offline, and the CPU is back, starts a new
 * context there, which counts from 0. */
int place_revive(struct place *place, const struct tree *t, const struct reading *r, struct err *e);
/* Reads the counts of a place since the start. */
int place_read(struct place *place, struct reading *r, struct err *e);
/* Removes the contexts of children that have ended and keeps their counts, since the number of
 * contexts is limited. @threads: each thread is a scope. Returns 1 if there may be more. */
int places_collect(struct places *p, bool threads, struct err *e);
/* Finds the number of the thread that the context itself counts. */
int place_tid(const struct place *place, int *tid, struct err *e);

/* Removes the contexts; the places stay. */
void places_unload(struct places *p);
void places_free(struct places *p);

#endif
