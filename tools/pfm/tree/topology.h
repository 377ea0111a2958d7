/* SPDX-License-Identifier: MIT */
/* Cores and sockets, as the kernel tells of them in /sys. */
#ifndef TOOLS_PFM_TREE_TOPOLOGY_H
#define TOOLS_PFM_TREE_TOPOLOGY_H

#include "base/err.h"

struct topology {
	int core; /* its first CPU, as core numbers of the kernel are unique in their socket only */
	int socket; /* the kernel's number */
};

/* That of CPU @cpu. -ENOENT: the kernel tells nothing of it. */
int topology_of(int cpu, struct topology *t, struct err *e);

#endif
