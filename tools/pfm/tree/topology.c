// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* The number at the beginning of the file; -1: there is no such file. */
static int topology_number(int cpu, const char *name)
{
	char path[96];
	CLEANUP_FCLOSE FILE *f = NULL;
	int v;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name);
	f = fopen(path, "re");
	return f && fscanf(f, "%d", &v) == 1 ? v : -1;
}

int topology_of(int cpu, struct topology *t, struct err *e)
{
	t->core = topology_number(cpu, "thread_siblings_list");
	t->socket = topology_number(cpu, "physical_package_id");
	return t->core >= 0 && t->socket >= 0 ? 0
					      : err_set(e, ENOENT,
							"the kernel does not say which core and "
							"socket CPU %d belongs to: use --no-aggr",
							cpu);
}
