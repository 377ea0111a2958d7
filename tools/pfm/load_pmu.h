/* SPDX-License-Identifier: MIT */
/* The PMU of an open tree with all its named events. */
#ifndef TOOLS_PFM_LOAD_PMU_H
#define TOOLS_PFM_LOAD_PMU_H

#include "base/err.h"
#include "tools/pfm/events/group.h"
#include "tools/pfm/events/pfm_pmu.h"
#include "tools/pfm/tree/tree.h"

/* Reads pmu/ of the tree, and event files: where CPUs have different PMUs, the registers that all
 * have. pfm_pmu_free() it. */
int load_pmu(const struct tree *t, struct pfm_pmu *pmu, struct err *e);

/* Reads group files. group_free() it. */
int load_groups(struct group_list *list, struct err *e);

/*
 * Opens the tree for the time of this: for commands that need its PMU alone. @mount as in
 * tree_open().
 */
int load_pmu_of(const char *mount, struct pfm_pmu *pmu, struct err *e);

#endif
