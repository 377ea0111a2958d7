/* SPDX-License-Identifier: MIT */
/* The little that backends read from sysfs: one-line files and lists of CPUs. */
#ifndef BACKEND_SYSFS_SYSFS_H
#define BACKEND_SYSFS_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

struct sysfs_line {
	char text[1024];
	size_t n;
};

/* The first line of a file, without its newline. 0 or -errno; E2BIG if it does not fit. */
int sysfs_read(const char *path, struct sysfs_line *line);

/* Lists as the kernel prints them: "0-3,5". What is malformed ends the list. */
bool cpulist_has(struct slice list, unsigned cpu);
unsigned cpulist_limit(struct slice list); /* the highest number in it plus one; 0: empty */

/* Asked of the kernel anew each time. */
bool sysfs_cpu_online(unsigned cpu);
unsigned sysfs_cpu_first(void); /* the first CPU that is online */
/* The highest CPU that is or can become online, plus one. */
int sysfs_cpu_limit(unsigned *limit, struct err *e);

#endif
