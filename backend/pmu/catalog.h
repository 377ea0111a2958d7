/* SPDX-License-Identifier: MIT */
/* Descriptions by name and from files, for --pmu: if detection is wrong or impossible. */
#ifndef BACKEND_PMU_CATALOG_H
#define BACKEND_PMU_CATALOG_H

#include "perfmonfs/pmu.h"

/*
 * Loads the description of a model by its name, or, if @name_or_file contains a slash, from a file
 * in the text form. ENODEV, with a list of the names: there is no such model.
 *
 * A file decides which registers root writes: EPERM unless it is regular, owned by root or the
 * daemon's user, and not writable by others. pmu_virtual_open() must succeed for its virtual PMDs.
 */
int pmu_load(const char *name_or_file, struct pmu *out, struct err *e);

/*
 * Adds the descriptions *.pmu of a directory to the models, in the order of their names. One that
 * cannot be used is told to stderr and skipped, as pmu_load() would refuse it, or because a model
 * has its name. No such directory: nothing is added. EPERM: other users can write to it.
 */
int pmu_load_dir(const char *dir, struct err *e);

/*
 * Tells each mistake of a file. Returns their number, or the error of reading the file.
 */
int pmu_check_file(const char *path, pmu_tell *tell, void *arg, struct err *e);

#endif
