/* SPDX-License-Identifier: MIT */
/* Plans for the events that the user wants to count on an open tree. */
#ifndef TOOLS_PFM_LOAD_PLAN_H
#define TOOLS_PFM_LOAD_PLAN_H

#include "base/err.h"
#include "tools/pfm/events/group.h"
#include "tools/pfm/load_pmu.h"
#include "tools/pfm/stat/places.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/tree/tree.h"

/*
 * Makes plans for @wanted, without counters: plan_assign() is next. If @where names CPUs of several
 * types, there is a plan for each type, otherwise one for what all CPUs have. @pmus must stay.
 * Call plans_free(), even after a failure.
 */
int load_plans(const struct plan_events *wanted, const struct tree *t, const struct pmus *pmus,
	const struct place_options *where, struct plans *plans, struct err *e);

#endif
