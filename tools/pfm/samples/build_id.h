/* SPDX-License-Identifier: MIT */
/* The GNU build ID of an ELF file, which distinguishes it from other files with that name. */
#ifndef TOOLS_PFM_SAMPLES_BUILD_ID_H
#define TOOLS_PFM_SAMPLES_BUILD_ID_H

#include <stdint.h>
#include <sys/types.h>

#include "tools/pfm/samples/data.h"

/*
 * Reads the build ID of the file @fd; the rest of @id is 0. Returns the size of the build ID; 0:
 * there is none, and @id is the file's identity (regular_identity()). The file may belong to any
 * user, so its contents are checked.
 */
uint8_t build_id_read(int fd, uint8_t id[DATA_BUILD_ID_MAX]);

#endif
