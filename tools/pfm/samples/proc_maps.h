/* SPDX-License-Identifier: MIT */
/* Mappings, from lines of /proc/PID/maps. */
#ifndef TOOLS_PFM_SAMPLES_PROC_MAPS_H
#define TOOLS_PFM_SAMPLES_PROC_MAPS_H

#include <stdbool.h>
#include <stdio.h>

#include "perfmonfs/smpl_file.h"
#include "tools/pfm/samples/data.h"

/* A line. */
struct proc_map {
	struct data_map map; /* addr, len and pgoff */
	pfm_smpl_file_t file;
	bool executable;
	const char *name; /* in @line; "//anon": there is none */
	char *line;
	size_t room;
};

/* Reads the next line of @f into @m, whose line and room getline() manages. Returns false at the
 * end. Lines that are not understood are skipped. */
bool proc_maps_next(FILE *f, struct proc_map *m);

/* Finds the file that is mapped at @address, in @path, a /proc/PID/maps. @name: that of the
 * mapping, or NULL for any. Returns 0, or -ESRCH: there is none with that name. */
int proc_maps_find(const char *path, uint64_t address, const char *name, pfm_smpl_file_t *file);

#endif
