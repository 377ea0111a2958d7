/* SPDX-License-Identifier: MIT */
/* The PMU of an open tree with all its named events. */
#ifndef TOOLS_PFM_LOAD_PMU_H
#define TOOLS_PFM_LOAD_PMU_H

#include "base/err.h"
#include "tools/pfm/events/group.h"
#include "tools/pfm/events/pfm_pmu.h"
#include "tools/pfm/tree/cpu_types.h"
#include "tools/pfm/tree/tree.h"

/* Reads pmu/ of the tree, and event files: where CPUs have different PMUs, the registers that all
 * have. pfm_pmu_free() it. */
int load_pmu(const struct tree *t, struct pfm_pmu *pmu, struct err *e);

/* The PMUs of a tree. */
struct pmus {
	struct pfm_pmu common; /* what all CPUs have */
	/* Where CPUs have different PMUs, that of each type; else none. */
	struct pfm_pmu types[CPU_TYPES_MAX];
	unsigned ntypes;
};

/* Reads them all. pmus_free() them. */
int load_pmus(const struct tree *t, struct pmus *p, struct err *e);
void pmus_free(struct pmus *p);

/* The PMU of the CPUs of @type, which cpus tells; NULL: none. */
const struct pfm_pmu *pmus_of_type(const struct pmus *p, struct slice type);

/* The PMU of the CPUs of @type, which may be Linux's name of it. -EINVAL: there is no such type. */
int pmus_find(const struct pmus *p, const char *type, const struct pfm_pmu **pmu, struct err *e);

/* Reads group files. group_free() it. */
int load_groups(struct group_list *list, struct err *e);

/*
 * Opens the tree for the time of this: for commands that need its PMUs alone. @mount as in
 * tree_open().
 */
int load_pmus_of(const char *mount, struct pmus *p, struct err *e);

#endif
