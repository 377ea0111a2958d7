/* SPDX-License-Identifier: MIT */
/* The files that other processes have mapped. Their paths are those of other mount namespaces, and
 * the files may have been deleted or replaced since. */
#ifndef TOOLS_PFM_SAMPLES_MAPPED_FILE_H
#define TOOLS_PFM_SAMPLES_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "perfmonfs/smpl_file.h"
#include "tools/pfm/samples/data.h"

/*
 * Opens the file that process @m->pid has mapped as @name at @m->addr since @m->time, or now if
 * that is 0: the file @file, and no other that is at its path. If all of @file is 0, the process
 * must have the mapping still. Returns the descriptor, or -errno: the file is not found.
 */
int mapped_file_open(const struct data_map *m, const char *name, const pfm_smpl_file_t *file);

/* Sets the device and the inode of the open file @fd to those that /proc/PID/maps has. On some file
 * systems, stat() has others. Returns 0 or -errno. */
int mapped_file_identify(int fd, pfm_smpl_file_t *file);

/* Opens @path as process @pid sees it. @flags: 0 or O_NOFOLLOW. Only regular files are opened.
 * Returns the descriptor, or -errno: the process has ended, or access to its files is not
 * permitted. */
int mapped_file_open_inside(uint32_t pid, const char *path, int flags);

/* Opens a copy of pfm's own [vdso], which is that of all processes since the boot. Returns the
 * descriptor, or -errno. */
int mapped_file_open_vdso(void);

/* Opens the file in which process @pid names the code that it makes: /tmp/perf-PID.map of its mount
 * and PID namespaces. Its owner has to be the user of the process. Returns the descriptor, or
 * -errno. */
int mapped_file_open_names(uint32_t pid);

/* Whether @fd, mapped as @name, is the jitdump of process @pid: jit-PID.dump of its PID namespace,
 * of which the user of the process is the owner. */
bool mapped_file_is_dump_of(uint32_t pid, const char *name, int fd);

#endif
