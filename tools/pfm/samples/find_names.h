/* SPDX-License-Identifier: MIT */
/* Finds the names of sampled code in programs, libraries and the kernel, and stores them in a
 * recording. */
#ifndef TOOLS_PFM_SAMPLES_FIND_NAMES_H
#define TOOLS_PFM_SAMPLES_FIND_NAMES_H

#include "base/err.h"
#include "tools/pfm/samples/data.h"
#include "tools/pfm/samples/image.h"

/* Both read the files in a process of their own: bounded.h. The names that it has found until it is
 * broken off are stored all the same. */

/* Finds the names for the records of @f, which has none, and appends them to @f. */
int find_names_append(struct data_file *f, struct err *e);
/* Writes the names for the records of @f to @out. Unloads @f. @live has open files of objects. */
int find_names_into(
	struct data_file *f, const struct image *live, struct data_writer *out, struct err *e);

#endif
