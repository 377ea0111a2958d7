/* SPDX-License-Identifier: MIT */
/* --check: whether perfmonfs can run on this machine, and what is missing. */
#ifndef DAEMON_CHECK_H
#define DAEMON_CHECK_H

#include "daemon/options.h"

/* Prints a line per item. Returns the exit status: 0 if no item has failed. */
int check_machine(struct options *o);

#endif
