/* SPDX-License-Identifier: MIT */
/* The separate debug file of a program, where its packager or gdb would put it. */
#ifndef TOOLS_PFM_SAMPLES_DEBUG_FILE_H
#define TOOLS_PFM_SAMPLES_DEBUG_FILE_H

#include "tools/pfm/samples/image.h"

/*
 * Opens the debug file of @o, whose file is open: /usr/lib/debug/.build-id/XX/REST.debug, or that
 * of .gnu_debuglink with its checksum, beside the program, in .debug there, or in /usr/lib/debug
 * with the program's path. Beside the program, it has to be of the same owner. @budget: the bytes
 * that may still be read for checksums. Returns the descriptor, or -errno; -E2BIG: @budget is too
 * small.
 */
int debug_file_open(const struct object *o, uint64_t *budget);

#endif
