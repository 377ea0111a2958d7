/* SPDX-License-Identifier: MIT */
/* Executable mappings, from lines of /proc/PID/maps. */
#ifndef TOOLS_PFM_SAMPLES_PROC_MAPS_H
#define TOOLS_PFM_SAMPLES_PROC_MAPS_H

#include <stdbool.h>

#include "tools/pfm/samples/data.h"

/* Parses a line. Returns the name, which is in @line, or "//anon" if there is none; NULL: the
 * mapping is not executable, or the line is not understood. Sets addr, len and pgoff. */
const char *proc_maps_parse(char *line, struct data_map *m);

#endif
