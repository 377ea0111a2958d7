/* SPDX-License-Identifier: MIT */
/* The functions in which the time goes, for pfm top -f: a recording in memory for each table. */
#ifndef TOOLS_PFM_TOP_FUNCTIONS_H
#define TOOLS_PFM_TOP_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "tools/pfm/record_plan.h"
#include "tools/pfm/samples/recording.h"

enum { FUNCTIONS_POLL_NS = 50000000 };

struct functions {
	struct record_wanted wanted;
	struct record_plan plan;
	struct recorder recorder;
	struct recording recording; /* of the last table */
	bool begun;                 /* @recorder is open */
	bool taken;                 /* @recording is */
	bool ended;                 /* all that is sampled has ended */
	unsigned by;                /* what has a row */
	char *text;                 /* the title, then the rows, a line each */
	size_t size;
	struct slice title;
	struct slice *rows;
	unsigned n;
};

/* Begins to sample what is wanted. */
int functions_begin(struct functions *f, const struct tree *t, struct err *e);
void functions_end(struct functions *f);

/* Call it each FUNCTIONS_POLL_NS. */
int functions_poll(struct functions *f, struct err *e);
/* Makes the table of the time since the last one. -ESRCH without a sentence: it is the last one, as
 * all that is sampled has ended. */
int functions_read(struct functions *f, struct err *e);
/* Makes the next of the tables that differ in what has a row. */
int functions_choose_next(struct functions *f, struct err *e);
/* What has a row. */
const char *functions_by(const struct functions *f);

#endif
