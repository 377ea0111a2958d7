/* SPDX-License-Identifier: MIT */
/* The PMU of an open tree with all its named events. */
#ifndef TOOLS_PFM_LOAD_PMU_H
#define TOOLS_PFM_LOAD_PMU_H

#include "base/err.h"
#include "tools/pfm/events/group.h"
#include "tools/pfm/events/pfm_pmu.h"
#include "tools/pfm/tree/cpu_types.h"
#include "tools/pfm/tree/tree.h"

/* Reads pmu/ of the tree, and event files. If CPUs have different PMUs, @pmu has the registers that
 * all have. pfm_pmu_free() it. */
int load_pmu(const struct tree *t, struct pfm_pmu *pmu, struct err *e);

/* The PMUs of a tree. */
struct pmus {
	struct pfm_pmu common; /* what all CPUs have */
	/* The PMU of each type if CPUs have different PMUs; otherwise none. */
	struct pfm_pmu types[CPU_TYPES_MAX];
	unsigned ntypes;
};

/* Reads all PMUs. pmus_free() them. */
int load_pmus(const struct tree *t, struct pmus *p, struct err *e);
void pmus_free(struct pmus *p);

/* The PMU of CPUs of @type, as MNT/cpus names it; NULL: none. */
const struct pfm_pmu *pmus_of_type(const struct pmus *p, struct slice type);

/* Finds the PMU of CPUs of @type, which may be Linux's name of the PMU. -EINVAL: no such type. */
int pmus_find(const struct pmus *p, const char *type, const struct pfm_pmu **pmu, struct err *e);

/* Reads group files. group_free() it. */
int load_groups(struct group_list *list, struct err *e);

/* Opens the tree, reads its PMUs and closes it, for commands that need nothing else. @mount as in
 * tree_open(). */
int load_pmus_of(const char *mount, struct pmus *p, struct err *e);

#endif
