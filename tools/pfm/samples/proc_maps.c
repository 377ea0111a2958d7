// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/proc_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static bool proc_maps_parse(struct proc_map *m)
{
	pfm_smpl_file_t file = {0};
	struct data_map map = {0};
	char mode[5];
	uint64_t end;
	int name = 0;

	if (sscanf(m->line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		    &map.addr, &end, mode, &map.pgoff, &file.dev_major, &file.dev_minor,
		    &file.inode, &name) != 7 ||
		!name || end <= map.addr)
		return false;
	map.len = end - map.addr;
	m->map = map;
	m->file = file;
	m->executable = mode[2] == 'x';
	m->line[strcspn(m->line, "\n")] = '\0';
	m->name = m->line[name] ? m->line + name : "//anon";
	return true;
}

bool proc_maps_next(FILE *f, struct proc_map *m)
{
	while (getline(&m->line, &m->room, f) > 0)
		if (proc_maps_parse(m))
			return true;
	return false;
}

int proc_maps_find(const char *path, uint64_t address, const char *name, pfm_smpl_file_t *file)
{
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	struct proc_map m = {.line = NULL};
	int rc = -ESRCH;

	while (f && rc < 0 && proc_maps_next(f, &m))
		if (address - m.map.addr < m.map.len && (!name || strcmp(m.name, name) == 0)) {
			*file = m.file;
			rc = 0;
		}
	free(m.line);
	return rc;
}
