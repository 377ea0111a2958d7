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
	struct scope scope;      /* unless there is one sum */
	const struct plan *plan; /* what is counted there */
	int package;             /* of the CPU; set by places_share_packages() */
	/* The kernel counts all of a process in one context, with what it makes; of a command, from
	 * its next program on. */
	bool inherit;
	bool background; /* the CPU is yielded to any other context */
	struct tree_ctx ctx;
	bool ended;               /* the thread or process has */
	struct err away;          /* no: the CPU was offline, and is not counted again yet */
	struct reading collected; /* of children that have been removed */
	struct reading last;      /* at the end of the interval before */
	struct reading since;     /* what came in the interval */
	struct threads threads;   /* instead of these readings, if each thread is a scope */
};

struct places {
	struct place *all;
	unsigned n;
	unsigned room; /* elements of @all */
};

int places_add(struct places *p, enum place_kind kind, int id, struct err *e);
/* All that the options name, as yet without plans. */
int places_add_list(
	struct places *p, const struct tree *t, const struct place_options *o, struct err *e);

/* -EINVAL: the tree has no such places. */
int places_check_tree(const struct place_options *o, const struct tree *t, struct err *e);

/* Finds the scopes of all places. */
int places_aggregate(struct places *p, enum aggregate how, struct err *e);

enum { PLACE_LOAD_ROOM = 48 };
/* The command that loads a context there. */
void place_format_load(enum place_kind kind, int id, char load[static PLACE_LOAD_ROOM]);

/* Gives each the plan that has the CPU's PMU. CPUs that have nothing to count are taken away. */
int places_plan(struct places *p, const struct tree *t, const struct plans *plans, struct err *e);

/*
 * Takes away the CPUs whose memory controllers are counted on another CPU of their package, where
 * they have nothing else to count. -EINVAL: they have.
 */
int places_share_packages(struct places *p, struct err *e);

/* Makes, programs and loads its context. */
int place_load(struct place *place, const struct tree *t, struct err *e);
/* Those of all of them. */
int places_load(struct places *p, const struct tree *t, struct err *e);
int places_start(struct places *p, struct err *e);
/* A command is about to run: the time since the start of its counters is none of its own. */
int places_begin(struct places *p, struct err *e);
/* Stops those that have not ended. */
int places_stop(struct places *p, struct err *e);

/* Finds out whether it has ended. Fails if its context is gone. */
int place_check(struct place *place, struct err *e);
/*
 * After the reading @r: if its counts are lost because the CPU was offline, and the CPU is back,
 * starts a new context there, which counts from 0.
 */
int place_revive(struct place *place, const struct tree *t, const struct reading *r, struct err *e);
/* The counts of one of them since the start. */
int place_read(struct place *place, struct reading *r, struct err *e);
/* Keeps the number of contexts small. @threads: each thread is a scope. 1: there may be more. */
int places_collect(struct places *p, bool threads, struct err *e);
/* The number of the thread that the context itself counts. */
int place_tid(const struct place *place, int *tid, struct err *e);

/* Removes the contexts; the places stay. */
void places_unload(struct places *p);
void places_free(struct places *p);

#endif
