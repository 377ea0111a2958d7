/* SPDX-License-Identifier: MIT */
/* The one-line files and CPU lists of sysfs that backends read. */
#ifndef BACKEND_SYSFS_SYSFS_H
#define BACKEND_SYSFS_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

enum { SYSFS_LINE = 1024 };

/* The first line of a file, without its newline; empty if it cannot be read or does not fit into
 * @room. */
struct slice sysfs_line(const char *path, char room[SYSFS_LINE]);

/* CPU lists as printed by the kernel: "0-3,5". A malformed element ends the list. */
bool cpulist_has(struct slice list, unsigned cpu);
bool cpulist_first(struct slice list, unsigned *cpu);
unsigned cpulist_limit(struct slice list); /* Highest number plus one; 0 if empty. */

/* These functions read sysfs at each call. */
bool sysfs_cpu_online(unsigned cpu);
unsigned sysfs_cpu_first(void); /* The lowest online CPU. */
/* The highest number of a possible CPU, plus one. */
int sysfs_cpu_limit(unsigned *limit, struct err *e);

#endif
