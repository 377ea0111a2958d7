/* SPDX-License-Identifier: MIT */
/* Reads programs and their debug files in a process of its own, which a damaged file can end. */
#ifndef TOOLS_PFM_SAMPLES_BOUNDED_H
#define TOOLS_PFM_SAMPLES_BOUNDED_H

#include "base/err.h"

/* CPU time of the process, and its time at all, in seconds. */
enum { BOUNDED_SECONDS = 60, BOUNDED_WAIT = 300 };

/* Calls @work with @of in the other process, which has a copy of this one's memory. Returns what
 * @work returns, with its sentence; @title names the work in the sentence of one that is broken
 * off. */
int bounded_run(int (*work)(void *of, struct err *e), void *of, const char *title, struct err *e);

#endif
