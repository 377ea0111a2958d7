// SPDX-License-Identifier: MIT
#include "tools/pfm/load_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/pfm/events/event_terms.h"
#include "tools/pfm/machine.h"
#include "tools/pfm/tree/cpus.h"
#include "tools/pfm/tree/file.h"

/* Adds a plan for CPUs of @type, unless there is one. */
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

/* Adds plans for the types of the CPUs that the user names. */
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

/* Finds the type of CPUs that all events of the list name; "" if they name none. */
static int load_plan_find_type(
	const struct pfm_pmu *common, const char *list, const char **type, struct err *e)
{
	struct slice rest = slice_of(list);
	bool first = true;

	*type = "";
	while (rest.n) {
		struct slice s = slice_trim(event_terms_cut(&rest));
		char name[EVENT_TEXT];
		const char *t;

		snprintf(name, sizeof(name), "%.*s", (int)(s.n < sizeof(name) ? s.n : 0), s.p);
		t = event_type(common, name);
		t = t ? t : "";
		if (!first && strcmp(t, *type) != 0)
			return err_set(e, EOPNOTSUPP,
				"%s: a thread is counted on CPUs of one type, or on all CPUs: give "
				"all events the same prefix, or none",
				name);
		*type = t;
		first = false;
	}
	return 0;
}

/* Lists the online CPUs of the plan's type. */
static int load_plan_list_cpus(struct plan *p, const struct tree *t, struct err *e)
{
	TEXT_CLEANUP struct text text = {0};
	struct cpus_line line;
	struct slice rest;
	int rc = file_read(t->dir, "cpus", &text, e);

	rest = (struct slice){text.p, text.n};
	while (rc == 0 && rest.n)
		if (cpus_parse(slice_cut(&rest, '\n'), &line) && !line.thread &&
			line.state != CPUS_OFFLINE && slice_is(line.type, p->pmu->type))
			text_printf(&p->cpus, "%s%d", p->cpus.n ? "," : "", line.id);
	if (rc < 0)
		return rc;
	if (!text_ok(&p->cpus))
		return err_set(e, ENOMEM, "no memory for a list of CPUs");
	return p->cpus.n ? 0 : err_set(e, ENXIO, "no CPU of type %s is online", p->pmu->type);
}

/* Adds a plan for threads: they are counted with what all CPUs have, or only on CPUs of the type
 * that their events name. */
static int load_plan_threads(struct plans *plans, const struct tree *t, const struct pmus *pmus,
	const char *events, struct err *e)
{
	const char *type = "";
	int rc = events ? load_plan_find_type(&pmus->common, events, &type, e) : 0;

	if (rc < 0 || !*type)
		return rc;
	load_plan_add(plans, pmus, slice_of(type));
	return load_plan_list_cpus(&plans->all[0], t, e);
}

static int load_plan_events(const struct plan_events *wanted, struct plans *plans, struct err *e)
{
	int rc = 0;

	if (!wanted->group && !wanted->events)
		return plans_add_defaults(plans, e);
	if (wanted->group)
		rc = load_groups(&plans->groups, e);
	if (rc == 0 && wanted->group)
		rc = plans_add_group(plans, &plans->groups, wanted->group, e);
	if (rc == 0 && wanted->events)
		rc = plans_add(plans, wanted->events, e);
	return rc;
}

/* Refuses events of memory controllers, which threads cannot count. */
static int load_plan_check(const struct plan *p, const struct place_options *where, struct err *e)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->events[i].umc && !(where && where->kind == PLACE_CPU))
			return err_set(e, EOPNOTSUPP,
				"%s: memory controllers count for all CPUs of a package: count "
				"CPUs with `pfm stat -C` or -a",
				p->events[i].name);
	return 0;
}

int load_plans(const struct plan_events *wanted, const struct tree *t, const struct pmus *pmus,
	const struct place_options *where, struct plans *plans, struct err *e)
{
	int rc = 0;

	*plans = (struct plans){.n = 0};
	if (where && where->kind == PLACE_CPU && pmus->ntypes)
		rc = load_plan_choose(plans, t, pmus, where, e);
	else if (where && pmus->ntypes)
		rc = load_plan_threads(plans, t, pmus, wanted->events, e);
	if (rc < 0)
		return rc;
	/* If the CPUs do not exist, the daemon reports it when contexts are loaded. */
	if (!plans->n)
		plans->all[plans->n++].pmu = &pmus->common;
	for (unsigned i = 0; i < plans->n; i++) {
		struct plan *p = &plans->all[i];

		p->only = -1;
		p->level = machine_levels(t);
		p->free = machine_free_counters(t, p->pmu);
	}
	rc = load_plan_events(wanted, plans, e);
	for (unsigned i = 0; rc == 0 && i < plans->n; i++)
		rc = load_plan_check(&plans->all[i], where, e);
	return rc;
}
