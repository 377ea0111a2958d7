/* SPDX-License-Identifier: MIT */
/* Running threads, processes or CPUs and their counts since the last call, as rows of a table. */
#ifndef TOOLS_PFM_TOP_ROWS_H
#define TOOLS_PFM_TOP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/stat/place_options.h"
#include "tools/pfm/stat/places.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/tree/proc.h"
#include "tools/pfm/tree/tree.h"

struct top_row {
	int id; /* of the thread, process or CPU */
	char name[PROC_NAME];
	double rates[EVENT_MAX]; /* per second; NAN: the count is lost */
};

/* A thread or CPU that is counted. */
struct top_place {
	struct place place;
	int pid;            /* process of the thread; 0: a CPU */
	struct err refused; /* why it cannot be counted; refused.no is 0 if it can */
	bool seen;          /* it still exists */
};

struct top {
	/* Set by the caller. */
	const struct tree *tree;
	const struct plan *plan;
	struct place_options where;
	bool by_process; /* rows are sums of threads */
	/* Set by top_read(). */
	struct places wanted; /* the processes, threads or CPUs of @where, without contexts */
	struct top_place *places;
	unsigned nplaces;
	struct top_row *rows;
	unsigned n;
	unsigned nrefused;  /* threads that are not counted */
	struct err refused; /* why one of these threads is not counted */
};

/* Begins to count. Fails if nothing can be counted. */
int top_open(struct top *t, struct err *e);

/* Fills the rows with counts since the previous call. New threads are counted from now on; ended
 * threads are left out. */
int top_read(struct top *t, struct err *e);

void top_close(struct top *t);

#endif
