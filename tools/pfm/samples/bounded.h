/* SPDX-License-Identifier: MIT */
/* Reads programs and their debug files in a process of its own, which a damaged file can end. */
#ifndef TOOLS_PFM_SAMPLES_BOUNDED_H
#define TOOLS_PFM_SAMPLES_BOUNDED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* CPU time of the process, and its time at all, in seconds. */
enum { BOUNDED_SECONDS = 60, BOUNDED_WAIT = 300 };

/* Calls @work with @of in the other process, which has a copy of this one's memory. Returns what
 * @work returns, with its sentence; @title names the work in the sentence of one that is broken
 * off. */
int bounded_run(int (*work)(void *of, struct err *e), void *of, const char *title, struct err *e);

/* Ends the calling process together with its parent, and bounds its memory. */
void bounded_begin(void);

/* In the other process: if it is root's, opens files with the rights of @owner from now on.
 * Debugging information names other files that belong to it, which libdw opens: they should be
 * those that the program's owner may read. 0: with root's rights again. False: root's rights could
 * not be given up, as in some containers; then no such file may be opened. */
bool bounded_as(uid_t owner);

#endif
