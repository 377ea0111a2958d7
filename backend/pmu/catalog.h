/* SPDX-License-Identifier: MIT */
/* Descriptions by name and from files, for --pmu, which is needed if detection is wrong or
 * impossible. */
#ifndef BACKEND_PMU_CATALOG_H
#define BACKEND_PMU_CATALOG_H

#include "perfmonfs/pmu.h"

/*
 * Loads a description: by the name of a model or, if @name_or_file contains a slash, from a file in
 * the text form. ENODEV, with a list of the names: there is no such model.
 *
 * A file decides which registers root writes: EPERM unless it is regular, owned by root or the
 * daemon's user, and not writable by others. pmu_virtual_open() must succeed for its virtual PMDs.
 */
int pmu_load(const char *name_or_file, struct pmu *out, struct err *e);

/*
 * Adds the descriptions *.pmu of a directory to the models, in the order of their names. A
 * description that pmu_load() would refuse, or whose name a model already has, is reported on
 * stderr and skipped. If there is no such directory, nothing is added. EPERM: other users can write
 * to it.
 */
int pmu_load_dir(const char *dir, struct err *e);

/*
 * Reports each mistake in a file to @tell. Returns the number of mistakes, or the error of reading
 * the file.
 */
int pmu_check_file(const char *path, pmu_tell *tell, void *arg, struct err *e);

#endif
