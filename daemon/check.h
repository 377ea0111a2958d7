/* SPDX-License-Identifier: MIT */
/* --check: whether perfmonfs can run on this machine, and what is missing; and --pmu-check. */
#ifndef DAEMON_CHECK_H
#define DAEMON_CHECK_H

#include "daemon/options.h"

/* Prints a line per item. Returns the exit status: 0 if no item has failed. */
int check_machine(struct options *o);

/* Prints a line per mistake of a PMU's description. Returns the exit status: 0 if there is none. */
int check_pmu_file(const char *path);

#endif
