/* SPDX-License-Identifier: MIT */
/* The events that the user wants to count on an open tree. */
#ifndef TOOLS_PFM_LOAD_PLAN_H
#define TOOLS_PFM_LOAD_PLAN_H

#include "base/err.h"
#include "tools/pfm/events/group.h"
#include "tools/pfm/events/pfm_pmu.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/tree/tree.h"

/*
 * Makes a plan of them, without counters: plan_assign() is next. Reads @groups, which must stay, if
 * a group is wanted; group_free() it, and plan_free() @p, also after a failure.
 */
int load_plan(const struct plan_events *wanted, const struct tree *t, const struct pfm_pmu *pmu,
	struct group_list *groups, struct plan *p, struct err *e);

#endif
