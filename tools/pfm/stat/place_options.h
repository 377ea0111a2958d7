/* SPDX-License-Identifier: MIT */
/* The options of stat, record and others that choose where to count: the mount, and CPUs, threads
 * or processes. */
#ifndef TOOLS_PFM_STAT_PLACE_OPTIONS_H
#define TOOLS_PFM_STAT_PLACE_OPTIONS_H

#include "base/err.h"
#include "tools/pfm/command.h"

enum place_kind {
	PLACE_COMMAND, /* a thread, with all threads and processes that it creates */
	PLACE_PROCESS, /* all threads of a process, with those that they create */
	PLACE_THREAD,
	PLACE_CPU,
};

struct place_options {
	const char *mount;    /* for tree_open() */
	enum place_kind kind; /* PLACE_COMMAND: none of the options was given */
	const char *list;     /* of CPUs, threads or processes; NULL: all CPUs, or a command */
	bool cgroup;          /* the list is the name of a control group of processes */
};

/* The rows of these options, for the table of a command. */
/* clang-format off */
#define PLACE_OPTIONS                                                                              \
	{'p', "pid", "PID,...", "processes, with all threads and what they start", 0},             \
	{'t', "tid", "TID,...", "threads", 0},                                                     \
	{'G', "cgroup", "CGROUP", "the processes of a control group, and what they start", 0},       \
	{'C', "cpu", "LIST", "CPUs, like 0-3,8", 0},                                               \
	{'a', "all-cpus", NULL, "all CPUs that are online", 0},                                    \
	MOUNT_OPTION
/* clang-format on */

/* Takes the option with key @c and argument @arg. Returns 1, or 0 if it is not one of these
 * options. -EINVAL: a place was given before. */
int place_options_set(struct place_options *o, int c, const char *arg, struct err *e);

/* Checks the options. -EINVAL: neither a place nor @command was given. */
int place_options_check(const struct place_options *o, char *const *command, struct err *e);

#endif
