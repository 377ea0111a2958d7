/* SPDX-License-Identifier: MIT */
/* Reading the file of a description. */
#ifndef BACKEND_PMU_SOURCE_H
#define BACKEND_PMU_SOURCE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"

/*
 * Reads @path, relative to the directory @dir, into memory that *@buf owns and @text describes.
 * EFBIG: over 64 KiB. @trusted: EPERM unless it is a regular file of root or the daemon's user that
 * others cannot write, because it decides which registers root writes.
 */
int source_read(
	int dir, const char *path, bool trusted, char **buf, struct slice *text, struct err *e);

#endif
