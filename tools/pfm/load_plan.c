// SPDX-License-Identifier: MIT
#include "tools/pfm/load_plan.h"

#include "tools/pfm/load_pmu.h"
#include "tools/pfm/machine.h"

static int load_group_events(const char *group, const struct pfm_pmu *pmu,
	struct group_list *groups, struct plan *p, struct err *e)
{
	int rc = load_groups(groups, e);

	return rc < 0 ? rc : plan_add_group(p, pmu, groups, group, e);
}

int load_plan(const struct plan_events *wanted, const struct tree *t, const struct pfm_pmu *pmu,
	struct group_list *groups, struct plan *p, struct err *e)
{
	int rc = 0;

	*p = (struct plan){
		.only = -1, .level = machine_levels(t), .free = machine_free_counters(t, pmu)};
	if (!wanted->group && !wanted->events)
		return plan_add_defaults(p, pmu, e);
	if (wanted->group)
		rc = load_group_events(wanted->group, pmu, groups, p, e);
	if (rc == 0 && wanted->events)
		rc = plan_add(p, pmu, wanted->events, e);
	return rc;
}
