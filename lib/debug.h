/* SPDX-License-Identifier: MIT */
/*
 * PERFMONFS_DEBUG=1: a line on stderr for each call that fails, with the daemon's sentence. Signal
 * handlers make calls, too, so lines are put together without allocating memory. All functions
 * preserve errno, except debug_fail().
 */
#ifndef PERFMONFS_LIB_DEBUG_H
#define PERFMONFS_LIB_DEBUG_H

#include "lib/lib_i.h"

/* ---- debug.c ---- */
bool debug_is_on(void);

/* Why the call that this thread makes is going to fail. */
struct debug_cause {
	bool daemon_refused; /* the daemon has a sentence */
	const char *reason;  /* of the library; NULL: none was given */
};
void debug_daemon_refused(void);
/* lib_fail() with the reason, for what the library refuses itself. */
int debug_fail(int err, const char *reason);
/* The cause since the last time. */
struct debug_cause debug_take_cause(void);

struct debug_line {
	char text[512];
	size_t n;
};
/* Begins a line "perfmonfs: @what: ". */
void debug_begin(struct debug_line *l, const char *what);
/* Adds @s up to a newline, or as much as there is room for. */
void debug_add(struct debug_line *l, const char *s);
void debug_end(struct debug_line *l);

/* ---- debug_result.c ---- */
/* Reports that @call on the context @fd (-1: none) has failed, if @rc is negative. Returns @rc. */
int debug_result(const char *call, int fd, int rc);

#endif
