/* SPDX-License-Identifier: MIT */
/* Cores and sockets, as the kernel reports them in /sys. */
#ifndef TOOLS_PFM_TREE_TOPOLOGY_H
#define TOOLS_PFM_TREE_TOPOLOGY_H

#include "base/err.h"

struct topology {
	int core; /* its first CPU, as the kernel's core numbers are unique only within a socket */
	int socket; /* the kernel's number */
};

/* Gets the topology of CPU @cpu. -ENOENT: the kernel does not report it. */
int topology_of(int cpu, struct topology *t, struct err *e);

#endif
