/* SPDX-License-Identifier: MIT */
/* Types of CPUs of an open tree, if CPUs have different PMUs: the directories of pmu/. */
#ifndef TOOLS_PFM_TREE_CPU_TYPES_H
#define TOOLS_PFM_TREE_CPU_TYPES_H

#include "base/slice.h"
#include "base/text.h"
#include "tools/pfm/tree/tree.h"

enum { CPU_TYPES_MAX = 4, CPU_TYPES_NAME = 32 };

/* Lists the names of the types. Returns how many there are, 0 if all CPUs are alike, or -errno. */
int cpu_types_list(const struct tree *t, char types[CPU_TYPES_MAX][CPU_TYPES_NAME], struct err *e);

/* Reduces @acc, the text of pmcs or pmds of one type, to the registers that are also in @other, the
 * text of another type. A bit is reserved if either text reserves it. */
void cpu_types_meet(struct text *acc, struct slice other);

#endif
