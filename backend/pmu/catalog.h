/* SPDX-License-Identifier: MIT */
/* Descriptions by name and by file: what --pmu takes when detection is wrong or impossible. */
#ifndef BACKEND_PMU_CATALOG_H
#define BACKEND_PMU_CATALOG_H

#include "perfmonfs/pmu.h"

/* A family with the counters its first members had. ENODEV, with the names there are. */
int pmu_by_name(const char *name, struct pmu *out, struct err *e);

/*
 * A name, or with a slash in it a file in the text form. The file decides which registers root
 * writes: EPERM unless it is regular, root's (or the daemon's user's) and nobody else's to write.
 * Its virtual PMDs' files must be there, as pmu_virtual_open() wants them.
 */
int pmu_load(const char *name_or_file, struct pmu *out, struct err *e);

#endif
