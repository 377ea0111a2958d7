/* SPDX-License-Identifier: MIT */
/* The GNU build ID of an ELF file, which tells it from another one of that name. */
#ifndef TOOLS_PFM_SAMPLES_BUILD_ID_H
#define TOOLS_PFM_SAMPLES_BUILD_ID_H

#include <stdint.h>
#include <sys/types.h>

#include "tools/pfm/samples/data.h"

/*
 * The number of bytes of the build ID of @path as process @pid sees it; 0: none, or the file cannot
 * be read. The file may belong to any user: it is never waited for, and what it says is checked.
 */
uint8_t build_id_read(uint32_t pid, const char *path, uint8_t id[DATA_BUILD_ID_MAX]);

#endif
