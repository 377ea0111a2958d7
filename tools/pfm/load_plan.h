/* SPDX-License-Identifier: MIT */
/* The events that the user wants to count on an open tree. */
#ifndef TOOLS_PFM_LOAD_PLAN_H
#define TOOLS_PFM_LOAD_PLAN_H

#include "base/err.h"
#include "tools/pfm/events/group.h"
#include "tools/pfm/load_pmu.h"
#include "tools/pfm/stat/places.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/tree/tree.h"

/*
 * Makes plans of them, without counters: plan_assign() is next. Where @where names CPUs of several
 * types, there is one for each type; without, one for what all CPUs have. @pmus must stay. Reads
 * @groups, which must stay, if a group is wanted; group_free() it, and plans_free() @plans, also
 * after a failure.
 */
int load_plans(const struct plan_events *wanted, const struct tree *t, const struct pmus *pmus,
	const struct place_options *where, struct group_list *groups, struct plans *plans,
	struct err *e);

#endif
