/* SPDX-License-Identifier: MIT */
/* The outputs of pfm report. Each writer writes to @out, and returns 0, or -ENOMEM with a sentence.
 * Errors of @out stay in its error indicator, for the caller. */
#ifndef TOOLS_PFM_SAMPLES_REPORTS_H
#define TOOLS_PFM_SAMPLES_REPORTS_H

#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "tools/pfm/samples/recording.h"

/* The keys of a line of the flat profile. */
enum flat_key {
	FLAT_COMMAND,
	FLAT_PID,
	FLAT_TID,
	FLAT_CPU,
	FLAT_OBJECT,
	FLAT_FUNCTION,
	FLAT_LINE,
	FLAT_KEYS
};

struct flat_keys {
	enum flat_key key[FLAT_KEYS];
	unsigned n;
};

/* Parses "command,function". */
int flat_parse_keys(struct flat_keys *keys, const char *list, struct err *e);
bool flat_has_key(const struct flat_keys *keys, enum flat_key key);
/* Writes the flat profile. Leaves out lines of less than @at_least percent. */
int flat_write(const struct recording *r, const struct flat_keys *keys, double at_least, FILE *out,
	struct err *e);

/* Writes the head of a text for people: what was recorded, how exactly, and what is missing. */
void report_write_head(const struct recording *r, FILE *out);

/* Names the weights of samples: overflows, or the events that they stand for. */
const char *report_unit(const struct recording *r);

/* Parses the argument of --percent-limit. */
int report_parse_limit(double *at_least, const char *text, struct err *e);
/* Calls @write with the file @path, "-" for stdout; @mode is that of a new file. A recording is not
 * replaced, and no file is if @write fails before it has written much. */
int report_to(const char *path, mode_t mode,
	int (*write)(const void *of, FILE *out, struct err *e), const void *of, struct err *e);
enum { REPORT_MODE = 0666, REPORT_PRIVATE = 0600 }; /* with source; less umask */

/* How the call tree is shown. */
struct tree_options {
	bool callers; /* show below a function those that call it, instead of those that it calls */
	double at_least; /* percent of all overflows: functions with less are left out */
};

/* Writes the call tree as indented text, in 80 columns. */
int tree_write(
	const struct recording *r, const struct tree_options *options, FILE *out, struct err *e);

/* Writes the source of a function, with the share of each line and its @instructions. NULL: the
 * function with the largest share, among those that have either. ENOENT: it has no samples, or
 * neither. */
int annotate_write(const struct recording *r, const char *function, bool instructions, FILE *out,
	struct err *e);

/*
 * Writes a line "COMMAND;CALLER;FUNCTION WEIGHT" for each stack, for flamegraph.pl and speedscope.
 */
int folded_write(const struct recording *r, FILE *out, struct err *e);
/* Writes a flame graph that a browser shows without any other file. Leaves out frames of less than
 * @at_least percent. */
int flamegraph_write(const struct recording *r, double at_least, FILE *out, struct err *e);

/* Writes the functions of both recordings, before and after, the largest change first. Leaves out
 * changes of less than
 * @at_least points. */
int diff_write(const struct recording *const r[2], double at_least, FILE *out, struct err *e);
/* Writes a line "COMMAND;CALLER;FUNCTION BEFORE AFTER" for each stack of either recording. BEFORE
 * is scaled to the total of the second one. */
int folded_write_diff(const struct recording *const r[2], FILE *out, struct err *e);
/* Writes a flame graph of the second recording, with the changes since the first as colours. */
int flamegraph_write_diff(const struct recording *const r[2], FILE *out, struct err *e);

/* Writes a page for a browser that needs no other file. */
int html_write(const struct recording *r, FILE *out, struct err *e);

/* Writes the text of perf script. */
int perf_script_write(const struct recording *r, FILE *out, struct err *e);
/* Writes profile.proto of pprof, compressed if pfm was built with zlib. */
int pprof_write(const struct recording *r, FILE *out, struct err *e);
/* Writes the processed profile format of Firefox Profiler. */
int firefox_write(const struct recording *r, FILE *out, struct err *e);

#endif
