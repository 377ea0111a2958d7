/* SPDX-License-Identifier: MIT */
/* One measurement of a command, or of running processes, threads or CPUs, from the start of the
 * counters to their end. */
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

/* Takes the counts of a plan, for @scope or in total if it is NULL, over the @elapsed_ns before
 * @time_ns, a time since the start. On failure, such as a full disk, counting ends. */
typedef int session_report_fn(struct session *s, const struct scope *scope, const struct plan *plan,
	const struct reading *r, uint64_t time_ns, uint64_t elapsed_ns, struct err *e);

struct session {
	/* Set by the caller. */
	const struct tree *tree;
	const struct plans *plans;
	/* The command; NULL: counts until a signal, or until everything counted has ended. */
	char *const *argv;
	struct place_options where;
	uint64_t interval_ns; /* between reports; 0: one report at the end */
	enum aggregate aggregate;
	const char *flags; /* of the contexts; NULL: none */
	bool repeats;      /* further measurements follow, in which threads are recognized */
	bool regions; /* nothing is counted here: the threads of the command count themselves */
	session_report_fn *report;
	void *arg;
	/* Set by the measurement. */
	struct places places;
	struct launch launch;
	struct signals signals;
	bool interrupted;                       /* by a signal */
	bool counted;                           /* the counters have been started */
	uint64_t begin_ns, end_ns, reported_ns; /* CLOCK_MONOTONIC */
	int status;                             /* exit status of the command */
	int refused; /* exit status of pfm if the command cannot be executed; else 0 */
	struct rusage usage;
	/* why threads are missing in reports of each thread; missing.no is 0 if none are */
	struct err missing;
};

/* Runs a measurement; s->signals must be open. After a failure while counting, the command still
 * runs to its end; the sentence has then been printed already, and @e is empty. */
int session_run(struct session *s, struct err *e);

/* Runs @argv to its end without counting. Its exit status is s->status. */
int session_run_uncounted(struct session *s, char *const *argv, struct err *e);

#endif
