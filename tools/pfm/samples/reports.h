/* SPDX-License-Identifier: MIT */
/*
 * What pfm report makes of a recording. Each writer writes to @out, and returns 0 or -ENOMEM with a
 * sentence; errors of @out are left to the caller, in its error indicator.
 */
#ifndef TOOLS_PFM_SAMPLES_REPORTS_H
#define TOOLS_PFM_SAMPLES_REPORTS_H

#include <stdio.h>

#include "base/err.h"
#include "tools/pfm/samples/recording.h"

/* What a line of the flat profile is about. */
enum flat_key { FLAT_COMMAND, FLAT_PID, FLAT_TID, FLAT_CPU, FLAT_OBJECT, FLAT_FUNCTION, FLAT_KEYS };

struct flat_keys {
	enum flat_key key[FLAT_KEYS];
	unsigned n;
};

/* Parses "command,function". */
int flat_parse_keys(struct flat_keys *keys, const char *list, struct err *e);
/* Lines of less than @at_least percent are left out. */
int flat_write(const struct recording *r, const struct flat_keys *keys, double at_least, FILE *out,
	struct err *e);

/* What precedes a text for people: what was recorded, how exactly, and what is missing. */
void report_write_head(const struct recording *r, FILE *out);

/* How the call tree is shown. */
struct tree_options {
	bool callers;    /* below a function those that call it, and not what it calls */
	double at_least; /* percent of all overflows: what has less is left out */
};

/* The call tree as indented text, in 80 columns. */
int tree_write(
	const struct recording *r, const struct tree_options *options, FILE *out, struct err *e);

/* A line "COMMAND;CALLER;FUNCTION WEIGHT" for each stack, for flamegraph.pl and speedscope. */
int folded_write(const struct recording *r, FILE *out, struct err *e);
/* A flame graph that a browser shows without any other file. Frames of less than @at_least percent
 * are left out. */
int flamegraph_write(const struct recording *r, double at_least, FILE *out, struct err *e);
/* The text of perf script. */
int perf_script_write(const struct recording *r, FILE *out, struct err *e);
/* profile.proto of pprof, compressed if zlib was there at build time. */
int pprof_write(const struct recording *r, FILE *out, struct err *e);
/* The processed profile format of Firefox Profiler. */
int firefox_write(const struct recording *r, FILE *out, struct err *e);

#endif
