/* SPDX-License-Identifier: MIT */
/* Finds the names of sampled code in programs, libraries and the kernel, and stores them in a
 * recording. */
#ifndef TOOLS_PFM_SAMPLES_FIND_NAMES_H
#define TOOLS_PFM_SAMPLES_FIND_NAMES_H

#include "base/err.h"
#include "tools/pfm/samples/data.h"

/* Finds the names for the records of @f, which has none, and appends them to @f. */
int find_names_append(struct data_file *f, struct err *e);
/* Writes the names for the records of @f to @out. Unloads @f. */
int find_names(struct data_file *f, struct data_writer *out, struct err *e);

#endif
