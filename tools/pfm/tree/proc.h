/* SPDX-License-Identifier: MIT */
/* Facts about threads from /proc. */
#ifndef TOOLS_PFM_TREE_PROC_H
#define TOOLS_PFM_TREE_PROC_H

#include <stddef.h>

#include "base/err.h"

enum { PROC_NAME = 24 };

/* The name of a thread or process, safe for a terminal; "" if it has ended. */
void proc_name(int id, char name[PROC_NAME]);

/* The process of a thread; 0 if it has ended. */
int proc_of_thread(int tid);

/* The process that is the parent; 0: it has ended, or its parent is in another PID namespace. */
int proc_parent(int pid);

/* Calls @each for all threads of a process. -ESRCH: there is no such process. */
int proc_threads(int pid, int (*each)(void *arg, int tid, struct err *e), void *arg, struct err *e);

#endif
