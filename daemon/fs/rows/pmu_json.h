/* SPDX-License-Identifier: MIT */
#ifndef FS_PMU_JSON_H
#define FS_PMU_JSON_H

#include "base/text.h"
#include "perfmonfs/pmu.h"

/* Prints the registers and events of @pmu as an object in JSON. */
void pmu_json_print(const struct pmu *pmu, const char *backend, struct text *out);

#endif
