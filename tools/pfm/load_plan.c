// SPDX-License-Identifier: MIT
#include "tools/pfm/load_plan.h"

#include "tools/pfm/machine.h"
#include "tools/pfm/tree/cpus.h"
#include "tools/pfm/tree/file.h"

/* Adds a plan for CPUs of that type, unless there is one. */
static void load_plan_add(struct plans *plans, const struct pmus *pmus, struct slice type)
{
	const struct pfm_pmu *pmu = pmus_of_type(pmus, type);

	for (unsigned i = 0; i < plans->n; i++)
		if (plans->all[i].pmu == pmu)
			return;
	if (pmu)
		plans->all[plans->n++].pmu = pmu;
}

static bool load_plan_has(const struct places *places, int cpu)
{
	for (unsigned i = 0; i < places->n; i++)
		if (places->all[i].id == cpu)
			return true;
	return false;
}

/* For the types of the CPUs that the user names. */
static int load_plan_choose(struct plans *plans, const struct tree *t, const struct pmus *pmus,
	const struct place_options *where, struct err *e)
{
	__attribute__((cleanup(places_free))) struct places places = {0};
	TEXT_CLEANUP struct text text = {0};
	struct cpus_line line;
	struct slice rest;
	int rc = places_add_list(&places, t, where, e);

	if (rc == 0)
		rc = file_read(t->dir, "cpus", &text, e);
	rest = (struct slice){text.p, text.n};
	while (rc == 0 && rest.n)
		if (cpus_parse(slice_cut(&rest, '\n'), &line) && !line.thread &&
			load_plan_has(&places, line.id))
			load_plan_add(plans, pmus, line.type);
	return rc;
}

static int load_plan_events(const struct plan_events *wanted, struct group_list *groups,
	struct plans *plans, struct err *e)
{
	int rc = 0;

	if (!wanted->group && !wanted->events)
		return plans_add_defaults(plans, e);
	if (wanted->group)
		rc = load_groups(groups, e);
	if (rc == 0 && wanted->group)
		rc = plans_add_group(plans, groups, wanted->group, e);
	if (rc == 0 && wanted->events)
		rc = plans_add(plans, wanted->events, e);
	return rc;
}

int load_plans(const struct plan_events *wanted, const struct tree *t, const struct pmus *pmus,
	const struct place_options *where, struct group_list *groups, struct plans *plans,
	struct err *e)
{
	int rc = 0;

	*plans = (struct plans){.n = 0};
	if (where && where->kind == PLACE_CPU && pmus->ntypes)
		rc = load_plan_choose(plans, t, pmus, where, e);
	if (rc < 0)
		return rc;
	/* Of CPUs that are not there, the daemon tells when contexts are loaded. */
	if (!plans->n)
		plans->all[plans->n++].pmu = &pmus->common;
	for (unsigned i = 0; i < plans->n; i++) {
		struct plan *p = &plans->all[i];

		p->only = -1;
		p->level = machine_levels(t);
		p->free = machine_free_counters(t, p->pmu);
	}
	return load_plan_events(wanted, groups, plans, e);
}
