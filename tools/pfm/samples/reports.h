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
int flat_write(const struct recording *r, const struct flat_keys *keys, FILE *out, struct err *e);

/* A line "COMMAND;CALLER;FUNCTION WEIGHT" for each stack, for flamegraph.pl and speedscope. */
int folded_write(const struct recording *r, FILE *out, struct err *e);
/* A flame graph that a browser shows without any other file. */
int flamegraph_write(const struct recording *r, FILE *out, struct err *e);
/* The text of perf script. */
int perf_script_write(const struct recording *r, FILE *out, struct err *e);
/* profile.proto of pprof, compressed if zlib was there at build time. */
int pprof_write(const struct recording *r, FILE *out, struct err *e);
/* The processed profile format of Firefox Profiler. */
int firefox_write(const struct recording *r, FILE *out, struct err *e);

#endif
