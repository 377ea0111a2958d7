/* SPDX-License-Identifier: MIT */
/* What runs now, and what it has counted since the last time, as rows of a table. */
#ifndef TOOLS_PFM_TOP_ROWS_H
#define TOOLS_PFM_TOP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/stat/place_options.h"
#include "tools/pfm/stat/places.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/top/proc.h"
#include "tools/pfm/tree/tree.h"

struct top_row {
	int id; /* of the thread, process or CPU */
	char name[PROC_NAME];
	double rates[EVENT_MAX]; /* per second; NAN: the count is lost */
};

/* A thread or CPU that is counted. */
struct top_place {
	struct place place;
	int pid;            /* of a thread */
	struct err refused; /* no: it cannot be counted */
	bool seen;          /* it is there still */
};

struct top {
	/* The caller's. */
	const struct tree *tree;
	const struct plan *plan;
	struct place_options where;
	bool by_process; /* rows are sums of threads */
	/* Of top_read(). */
	struct places wanted; /* the processes, threads or CPUs of @where, without contexts */
	struct top_place *places;
	unsigned nplaces;
	struct top_row *rows;
	unsigned n;
	unsigned nrefused;  /* threads that are not counted */
	struct err refused; /* why one of them is not */
};

/* Begins to count. Fails if there is nothing that can be counted. */
int top_open(struct top *t, struct err *e);

/*
 * Makes the rows: counts since the call before. Threads that are new are counted from
 * now on; those that have ended are left out.
 */
int top_read(struct top *t, struct err *e);

void top_close(struct top *t);

#endif
