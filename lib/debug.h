/* SPDX-License-Identifier: MIT */
/*
 * With PERFMONFS_DEBUG=1, each call that fails prints a line on stderr, with the daemon's sentence.
 * Signal handlers make calls, too, so lines are composed without allocating memory. All functions
 * preserve errno, except debug_fail().
 */
#ifndef PERFMONFS_LIB_DEBUG_H
#define PERFMONFS_LIB_DEBUG_H

#include "lib/lib_i.h"

/* ---- debug.c ---- */
bool debug_is_on(void);

/* Why the present call of this thread fails. */
struct debug_cause {
	bool daemon_refused; /* the daemon has a sentence */
	const char *reason;  /* the library's reason; NULL: none was given */
};
void debug_daemon_refused(void);
/* Like lib_fail(), with the reason, for errors of the library itself. */
int debug_fail(int err, const char *reason);
/* Returns the cause that was set since the last call, and clears it. */
struct debug_cause debug_take_cause(void);

struct debug_line {
	char text[512];
	size_t n;
};
/* Begins a line "perfmonfs: @what: ". */
void debug_begin(struct debug_line *l, const char *what);
/* Adds @s up to a newline, truncated if there is too little room. */
void debug_add(struct debug_line *l, const char *s);
void debug_end(struct debug_line *l);

/* ---- debug_result.c ---- */
/* Reports that @call on the context @fd (-1: none) has failed, if @rc is negative. Returns @rc. */
int debug_result(const char *call, int fd, int rc);

#endif
