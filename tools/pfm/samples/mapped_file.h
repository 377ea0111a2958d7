/* SPDX-License-Identifier: MIT */
/* The files that other processes have mapped. Their paths are those of other mount namespaces, and
 * the files may have been deleted or replaced since. */
#ifndef TOOLS_PFM_SAMPLES_MAPPED_FILE_H
#define TOOLS_PFM_SAMPLES_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/pfm/samples/data.h"

/* Opens the file at @m->addr in process @m->pid, which is mapped as @name. Returns the descriptor,
 * or -errno; -ESTALE: another file is at that path now; -ESRCH: the mapping is gone. */
int mapped_file_open(const struct data_map *m, const char *name);

/* Opens a copy of pfm's own [vdso], which is that of all processes since the boot. Returns the
 * descriptor, or -errno. */
int mapped_file_open_vdso(void);

/* Opens the file in which process @pid names the code that it makes: /tmp/perf-PID.map of its mount
 * and PID namespaces. Its owner has to be the user of the process. Returns the descriptor, or
 * -errno. */
int mapped_file_open_names(uint32_t pid);

#endif
