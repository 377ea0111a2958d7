/* SPDX-License-Identifier: MIT */
/* Files of events and groups: the administrator's, then the installed ones. */
#ifndef TOOLS_PFM_EVENTS_DATA_FILES_H
#define TOOLS_PFM_EVENTS_DATA_FILES_H

#include "base/err.h"
#include "base/slice.h"

/* @name is the name of the file without directory and suffix. */
typedef int data_file_fn(
	void *arg, struct slice text, const char *path, const char *name, struct err *e);

/* Calls @each for the files with @suffix (".events") in each directory of a colon-separated list,
 * sorted by name. A directory that does not exist counts as empty. Stops at the first error. */
int data_files_each(
	const char *directories, const char *suffix, data_file_fn *each, void *arg, struct err *e);

/* The directories: PFM_EVENTS in the environment, or else /etc/perfmonfs/events and the directory
 * of this build or the installed one. */
const char *data_files_directories(void);

#endif
