/* SPDX-License-Identifier: MIT */
/* The register tables pmu/pmcs and pmu/pmds (specification 3.1.13, 3.1.14). */
#ifndef PERFMONFS_LIB_REGISTERS_H
#define PERFMONFS_LIB_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/lines.h"

struct reg_info {
	unsigned num;  /* logical number */
	uint16_t type; /* PFM_REG_TYPE_* of perfmon/perfmon_v06.h */
	uint64_t addr; /* address or index of the register */
	uint64_t def;  /* value after a reset */
	uint64_t rsvd; /* mask of reserved bits */
};

/* Reads the next line of the table open in @l. Returns false at the end. */
bool registers_next(struct lines *l, struct reg_info *r);
/* Returns 0, or -1 with errno: EINVAL if @table has no register @num. */
int registers_find(const char *table, unsigned num, struct reg_info *r);

#endif
