/* SPDX-License-Identifier: MIT */
/* The command line of pfm stat. */
#ifndef TOOLS_PFM_STAT_STAT_OPTIONS_H
#define TOOLS_PFM_STAT_STAT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/stat/place_options.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/report.h"
#include "tools/pfm/stat/scope.h"

struct stat_options {
	struct place_options where;
	char *const *command; /* NULL: none */
	char *compared[2];    /* shell command lines, with @compare instead of @command */
	struct plan_events wanted;
	const char *output;  /* NULL: stdout or stderr */
	bool append;         /* append to @output */
	uint64_t nruns;      /* of each command; 1: no statistics */
	uint64_t nwarmups;   /* runs of each command before these, uncounted */
	const char *prepare; /* shell command line to run before each run, uncounted; NULL: none */
	const char *input;   /* file that is the standard input of each run; NULL: inherited */
	bool show_output;    /* show the output of repeated runs */
	bool ignore_failure; /* ignore the failure of repeated runs */
	enum aggregate aggregate;
	uint64_t interval_ns; /* 0: none */
	enum report_format format;
	char separator; /* of CSV */
	bool background, gaps, mux, rerun, regions, compare, allow_lost;
};

/* The beginning of `pfm help stat`, and its options. */
extern const char stat_options_usage[];
extern const struct option_row stat_options_rows[];

int stat_options_parse(struct stat_options *o, int argc, char **argv, struct err *e);

#endif
