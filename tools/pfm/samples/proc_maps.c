// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/proc_maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *proc_maps_parse(char *line, struct data_map *m)
{
	char mode[5];
	uint64_t end;
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*u %n", &m->addr, &end, mode,
		    &m->pgoff, &name) != 4 ||
		!name || mode[2] != 'x' || end <= m->addr)
		return NULL;
	m->len = end - m->addr;
	line[strcspn(line, "\n")] = '\0';
	return line[name] ? line + name : "//anon";
}
