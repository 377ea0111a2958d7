/* SPDX-License-Identifier: MIT */
/* Values and a text shown in both pmu/ and sys/. */
#ifndef FS_PMU_ROWS_H
#define FS_PMU_ROWS_H

#include <stdint.h>

#include "base/text.h"

struct call;

/* Bits above the width of a counter are emulated, so none of the 64 bits is reserved. */
enum { PMD_DEFAULT = 0, PMD_RESERVED = 0 };
/* Virtual PMDs are read-only. */
#define VIRTUAL_RESERVED UINT64_MAX

/* Prints all registers in perfmon2's form of 2006, in which 0 bits of the mask are reserved. */
void pmu_show_mappings(const struct call *call, struct text *out);

#endif
