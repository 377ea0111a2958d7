/* SPDX-License-Identifier: MIT */
/* The tables of registers, pmu/pmcs and pmu/pmds (specification 3.1.13, 3.1.14). */
#ifndef PERFMONFS_LIB_REGISTERS_H
#define PERFMONFS_LIB_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/lines.h"

struct reg_info {
	unsigned num;
	bool msr; /* it is an MSR, at @addr */
	uint64_t addr;
	uint64_t def;
	uint64_t rsvd;
};

/* The next line of the table that @l has open. */
bool registers_next(struct lines *l, struct reg_info *r);
/* 0; -1 with EINVAL: there is no register @num in @table. */
int registers_find(const char *table, unsigned num, struct reg_info *r);

#endif
