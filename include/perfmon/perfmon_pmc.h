/* SPDX-License-Identifier: MIT */
/* PMCs of all versions since 2.2. Do not include this header directly. */
#ifndef PERFMON_PMC_H
#define PERFMON_PMC_H

#include <stdint.h>

typedef struct pfarg_pmc {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	uint64_t reg_value;
	uint64_t reg_reserved2[4];
} pfarg_pmc_t;

#endif
