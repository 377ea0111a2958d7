/* SPDX-License-Identifier: MIT */
/* One measurement: a command, or what runs already, from the start of the counters to their end. */
#ifndef TOOLS_PFM_STAT_SESSION_H
#define TOOLS_PFM_STAT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/stat/launch.h"
#include "tools/pfm/stat/places.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/signals.h"
#include "tools/pfm/tree/tree.h"

struct session;

/*
 * Takes the counts of a plan, of @scope or of all together if it is NULL, that came in the
 * @elapsed_ns before @time_ns, a time since the start. On failure, as of a full disk, counting
 * ends.
 */
typedef int session_report_fn(struct session *s, const struct scope *scope, const struct plan *plan,
	const struct reading *r, uint64_t time_ns, uint64_t elapsed_ns, struct err *e);

struct session {
	/* The caller's. */
	const struct tree *tree;
	const struct plans *plans;
	char *const
		*argv; /* the command, or NULL: until a signal, or the end of all that is counted */
	struct place_options where;
	uint64_t interval_ns; /* between reports; 0: one at the end */
	enum aggregate aggregate;
	bool background; /* of CPUs: yield to other contexts */
	bool regions;    /* nothing is counted here: the command's threads count themselves */
	session_report_fn *report;
	void *arg;
	/* Of the measurement. */
	struct places places;
	struct launch launch;
	struct signals signals;
	bool interrupted;                       /* by a signal */
	bool counted;                           /* the counters have been started */
	uint64_t begin_ns, end_ns, reported_ns; /* CLOCK_MONOTONIC */
	int status;                             /* exit status of the command */
	int refused; /* exit status of pfm if the command cannot be executed; else 0 */
	struct rusage usage;
	struct err missing; /* no: threads are missing in reports of each thread, for its reason */
};

/*
 * With its signals open. After a failure while it counted, the command has run to its end all the
 * same; that sentence could not wait, and @e is empty.
 */
int session_run(struct session *s, struct err *e);

/* Runs @argv to its end, without counting: @status is its. */
int session_run_uncounted(struct session *s, char *const *argv, struct err *e);

#endif
