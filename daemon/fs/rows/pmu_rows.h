/* SPDX-License-Identifier: MIT */
/* Values that pmu/ and sys/ show for all PMDs. */
#ifndef FS_PMU_ROWS_H
#define FS_PMU_ROWS_H

#include <stdint.h>

/* Bits above the width of a counter are emulated, so none of the 64 bits is reserved. */
enum { PMD_DEFAULT = 0, PMD_RESERVED = 0 };
/* Virtual PMDs are read-only. */
#define VIRTUAL_RESERVED UINT64_MAX

#endif
