/* SPDX-License-Identifier: MIT */
/* The processes of a control group. */
#ifndef TOOLS_PFM_TREE_CGROUP_H
#define TOOLS_PFM_TREE_CGROUP_H

#include "base/err.h"

/*
 * Calls @each for each process that is in the control group @name or in one below it: the whole
 * path of its folder, or its path from the mount of the control groups, as /proc/PID/cgroup has it.
 * A process may have ended meanwhile, and may be there twice if it has moved. EINVAL: @name is
 * empty or has a part . or ..; ENOENT: there is no such group; EOPNOTSUPP: it has threads of
 * processes that are in another; errors of @each.
 */
int cgroup_processes(
	const char *name, int (*each)(void *arg, int pid, struct err *e), void *arg, struct err *e);

#endif
