/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PMU_PRINT_H
#define TESTS_PMU_PRINT_H

#include "base/text.h"
#include "perfmonfs/pmu.h"

/* Prints a description so that pmu_parse() reads the same one back. */
void pmu_print(const struct pmu *pmu, struct text *out);

#endif
