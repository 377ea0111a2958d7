// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/pfm/events/assign.h"
#include "tools/pfm/events/event_code.h"
#include "tools/pfm/events/event_terms.h"
#include "tools/pfm/tree/file.h"

/* Second row: the perf backend's. Events that the PMU lacks are skipped. */
static const char *const plan_hardware[] = {"instructions", "cycles", "branches", "branch-misses"};
static const char *const plan_software[] = {
	"task-clock", "context-switches", "cpu-migrations", "page-faults"};
/* The kernel cannot limit the other events to user level. */
static const char *const plan_software_user[] = {"page-faults", "minor-faults", "major-faults"};

/* --- Events */

static int plan_add_one(struct plan *p, const struct pfm_pmu *pmu, struct slice s, struct err *e)
{
	char name[EVENT_TEXT];

	if (p->n == EVENT_MAX)
		return err_set(
			e, E2BIG, "more than %d events: count them in several runs", EVENT_MAX);
	if (s.n >= sizeof(name))
		return err_set(e, EINVAL, "%.*s...: no event has a name this long", SLICE_ARG(s));
	snprintf(name, sizeof(name), "%.*s", (int)s.n, s.p);
	if (event_resolve(pmu, name, &p->events[p->n], e) < 0)
		return -e->no;
	p->n++;
	return 0;
}

int plan_add(struct plan *p, const struct pfm_pmu *pmu, const char *list, struct err *e)
{
	struct slice rest = slice_of(list);
	int rc = 0;

	do
		rc = plan_add_one(p, pmu, slice_trim(event_terms_cut(&rest)), e);
	while (rc == 0 && rest.n);
	return rc;
}

int plan_add_group(struct plan *p, const struct pfm_pmu *pmu, const struct group_list *groups,
	const char *name, struct err *e)
{
	int rc = group_find(groups, pmu, name, &p->group, p->events, e);

	if (rc < 0) {
		p->group = NULL;
		return rc;
	}
	p->n = p->group->nevents;
	for (unsigned i = 0; i < p->n; i++)
		snprintf(p->events[i].name, sizeof(p->events[i].name), "%s",
			p->group->events[i].label);
	return p->n ? 0 : err_set(e, EINVAL, "group %.40s has no events", name);
}

static bool plan_fits(const struct plan *p, const struct pfm_pmu *pmu)
{
	struct event_place places[EVENT_MAX];
	struct err e;

	return assign_events(pmu, p->events, p->n, p->free, places, &e) == 0;
}

int plan_add_defaults(struct plan *p, const struct pfm_pmu *pmu, struct err *e)
{
	bool perf = strcmp(pmu->backend, "perf") == 0, kernel = p->level & EVENT_KERNEL;
	const char *const *names = !perf    ? plan_hardware
				   : kernel ? plan_software
					    : plan_software_user;
	unsigned n = perf && !kernel ? 3 : 4;

	for (unsigned i = 0; i < n; i++) {
		if (plan_add_one(p, pmu, slice_of(names[i]), e) == 0 && !plan_fits(p, pmu))
			p->n--;
	}
	*e = (struct err){0};
	return p->n ? 0 : err_set(e, ENOENT, "no event is known for this PMU: name some with -e");
}

/* --- Plans of several types of CPUs */

/* Adds an event, a group, or the default events. */
typedef int plans_add_fn(struct plan *p, const void *arg, struct err *e);

/* Calls @add for each plan. Fails if no plan can have what it adds. */
static int plans_add_each(struct plans *plans, plans_add_fn *add, const void *arg, struct err *e)
{
	struct err why = {0};
	bool any = false;

	for (unsigned i = 0; i < plans->n; i++) {
		int rc = add(&plans->all[i], arg, e);

		if (rc < 0 && rc != -ENOENT && rc != -EOPNOTSUPP)
			return rc;
		any |= rc == 0;
		/* -ENOENT says more: it is from the type that the user named, -EOPNOTSUPP from the
		 * other one. */
		if (rc < 0 && (!why.no || rc == -ENOENT))
			why = *e;
	}
	*e = any ? (struct err){0} : why;
	return any ? 0 : -why.no;
}

static int plans_add_event(struct plan *p, const void *arg, struct err *e)
{
	return plan_add_one(p, p->pmu, *(const struct slice *)arg, e);
}

int plans_add(struct plans *plans, const char *list, struct err *e)
{
	struct slice rest = slice_of(list);
	int rc = 0;

	do {
		struct slice name = slice_trim(event_terms_cut(&rest));

		rc = plans_add_each(plans, plans_add_event, &name, e);
	} while (rc == 0 && rest.n);
	return rc;
}

struct plans_group {
	const struct group_list *groups;
	const char *name;
};

static int plans_add_a_group(struct plan *p, const void *arg, struct err *e)
{
	const struct plans_group *g = arg;

	return plan_add_group(p, p->pmu, g->groups, g->name, e);
}

int plans_add_group(
	struct plans *plans, const struct group_list *groups, const char *name, struct err *e)
{
	return plans_add_each(plans, plans_add_a_group, &(struct plans_group){groups, name}, e);
}

static int plans_add_a_default(struct plan *p, const void *arg, struct err *e)
{
	(void)arg;
	return plan_add_defaults(p, p->pmu, e);
}

int plans_add_defaults(struct plans *plans, struct err *e)
{
	return plans_add_each(plans, plans_add_a_default, NULL, e);
}

const char *plan_label(const struct plan *p, const char *name, char room[PLAN_LABEL])
{
	struct slice bare = slice_of(name);
	char prefix[PFM_PREFIX_ROOM];
	struct event_modifiers m;
	struct err e;

	if (!p->pmu || !p->pmu->type[0])
		return name;
	event_code_modifiers(&bare, &m, &e);
	snprintf(room, PLAN_LABEL, "%s/%.*s/%s", pfm_pmu_prefix(prefix, p->pmu->type), (int)bare.n,
		bare.p, name[bare.n] ? name + bare.n + 1 : "");
	return room;
}

/* --- Counters */

/* Adds @event to the last set. Fails if it does not fit there. */
static int plan_place(struct plan *p, const struct pfm_pmu *pmu, unsigned event, struct err *e)
{
	struct pfm_event together[EVENT_MAX];
	struct event_place places[EVENT_MAX];
	unsigned index[EVENT_MAX], n = 0;
	int set = (int)p->nsets - 1;
	int rc;

	p->sets[event] = set;
	for (unsigned i = 0; i <= event; i++) {
		if (p->sets[i] != set)
			continue;
		index[n] = i;
		together[n++] = p->events[i];
	}
	rc = assign_events(pmu, together, n, p->free, places, e);
	for (unsigned i = 0; rc == 0 && i < n; i++)
		p->places[index[i]] = places[i];
	return rc;
}

static int plan_place_all(struct plan *p, const struct pfm_pmu *pmu, struct err *e)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (plan_place(p, pmu, i, e) == 0)
			continue;
		p->nsets++;
		if (plan_place(p, pmu, i, e) < 0)
			return -e->no;
	}
	*e = (struct err){0};
	return 0;
}

static int plan_write_regs(struct plan *p, const struct pfm_pmu *pmu, int set, struct err *e)
{
	struct event_setting settings[EVENT_MAX_SETTINGS];
	struct pfm_event events[EVENT_MAX];
	struct event_place places[EVENT_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < p->n; i++) {
		if (p->sets[i] != set)
			continue;
		places[n] = p->places[i];
		events[n++] = p->events[i];
	}
	n = event_program(pmu, events, n, places, p->level, settings);
	for (unsigned i = 0; i < n; i++)
		text_printf(&p->regs[set], "pmc%u 0x%llx\n", settings[i].pmc,
			(unsigned long long)settings[i].value);
	return text_ok(&p->regs[set]) ? 0 : err_set(e, ENOMEM, "no memory");
}

int plan_assign(struct plan *p, const struct pfm_pmu *pmu, bool sets, struct err *e)
{
	int rc = 0;

	p->pmu = pmu;
	p->nsets = 1;
	for (unsigned i = 0; rc == 0 && i < p->n; i++)
		rc = event_check_level(pmu, &p->events[i], false, p->level, e);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < p->n; i++)
		p->events[i].level = p->events[i].level ? p->events[i].level : p->level;
	if (sets) {
		rc = plan_place_all(p, pmu, e);
	} else {
		memset(p->sets, 0, sizeof(p->sets));
		rc = assign_events(pmu, p->events, p->n, p->free, p->places, e);
	}
	for (unsigned set = 0; rc == 0 && set < p->nsets; set++)
		rc = plan_write_regs(p, pmu, (int)set, e);
	return rc;
}

/* --- Contexts */

static int plan_program_set(
	const struct plan *p, unsigned set, const struct tree_ctx *c, struct err *e)
{
	char path[32];
	int rc = 0;

	snprintf(path, sizeof(path), "set/%u", set);
	if (set && mkdirat(c->dir, path, 0700) < 0)
		rc = file_sentence(c->dir, path, errno, e);
	snprintf(path, sizeof(path), "set/%u/timeout_ns", set);
	if (rc == 0)
		rc = file_writef(c->dir, path, e, "%llu", (unsigned long long)p->timeout_ns);
	snprintf(path, sizeof(path), "set/%u/flags", set);
	if (rc == 0)
		rc = file_write(c->dir, path, "time_switch", e);
	snprintf(path, sizeof(path), "set/%u/regs", set);
	return rc < 0 ? rc : file_write(c->dir, path, p->regs[set].p, e);
}

int plan_program(const struct plan *p, const struct tree_ctx *c, struct err *e)
{
	int rc = 0;

	if (p->only >= (int)p->nsets)
		return 0;
	if (p->only >= 0 || p->nsets == 1)
		return file_write(c->dir, "set/0/regs", p->regs[p->only >= 0 ? p->only : 0].p, e);
	for (unsigned set = 0; rc == 0 && set < p->nsets; set++)
		rc = plan_program_set(p, set, c, e);
	return rc;
}

bool plan_counts(const struct plan *p, unsigned event, int *set)
{
	*set = p->only >= 0 ? 0 : p->sets[event];
	return p->only < 0 || p->sets[event] == p->only;
}

void plans_free(struct plans *plans)
{
	for (unsigned i = 0; i < plans->n; i++)
		plan_free(&plans->all[i]);
	group_free(&plans->groups);
}

void plan_free(struct plan *p)
{
	for (unsigned set = 0; set < PLAN_SETS; set++)
		text_free(&p->regs[set]);
	text_free(&p->cpus);
}
