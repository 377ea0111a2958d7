/* SPDX-License-Identifier: MIT */
/*
 * What is counted: events, the counter and the event set of each, and the register values for them.
 */
#ifndef TOOLS_PFM_STAT_PLAN_H
#define TOOLS_PFM_STAT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/events/group.h"
#include "tools/pfm/tree/ctx.h"

enum { PLAN_SETS = EVENT_MAX };

struct plan {
	struct pfm_event events[EVENT_MAX];
	struct event_place places[EVENT_MAX]; /* the counter of each event */
	int sets[EVENT_MAX];                  /* the event set of each event, from 0 on */
	unsigned n;                           /* number of events */
	/* The group that has the first events, and whose metrics are shown; NULL: none. */
	const struct group *group;
	unsigned nsets;      /* event sets; 1: all events are counted together */
	int only;            /* the set that this run counts, as set 0 of contexts; -1: all sets */
	unsigned level;      /* EVENT_USER and EVENT_KERNEL, for events that name no level */
	uint64_t free;       /* counters that no other software uses, as bits */
	uint64_t timeout_ns; /* of each set, if there are several */
	struct text regs[PLAN_SETS]; /* the registers of each set, for its file regs */
	const struct pfm_pmu *pmu;   /* the PMU that counts the events */
	struct text cpus; /* the list of CPUs on which threads are counted; empty: all CPUs */
};

/* The plans for the places: one, or one for each type of CPUs if their PMUs differ. */
struct plans {
	struct plan all[PFM_PMU_TYPES];
	unsigned n;
	struct group_list groups; /* all groups, if one is wanted */
};

/* The events that options name; NULL: option not given. With neither, the defaults are counted. */
struct plan_events {
	const char *events; /* a list */
	const char *group;
};

/* Adds the events of a comma-separated list. -E2BIG: too many events. */
int plan_add(struct plan *p, const struct pfm_pmu *pmu, const char *list, struct err *e);

/* Adds the events of a group, under the names that the group gives them. Call it before any other
 * event is added; @groups must stay. */
int plan_add_group(struct plan *p, const struct pfm_pmu *pmu, const struct group_list *groups,
	const char *name, struct err *e);

/* These add events to each plan; the plans' PMUs must be set. An event that one type of CPUs lacks
 * is counted on the others. Fails if no type has it. */
int plans_add(struct plans *plans, const char *list, struct err *e);
int plans_add_group(
	struct plans *plans, const struct group_list *groups, const char *name, struct err *e);
int plans_add_defaults(struct plans *plans, struct err *e);

/* Adds the most useful events that the PMU has and has counters for. */
int plan_add_defaults(struct plan *p, const struct pfm_pmu *pmu, struct err *e);

/*
 * Assigns counters. Events that do not fit together get several event sets if @sets; otherwise
 * fails with -ENOSPC or -EBUSY, and the sentence names the smallest set of events that does not
 * fit.
 */
int plan_assign(struct plan *p, const struct pfm_pmu *pmu, bool sets, struct err *e);

/* Programs the context with the set p->only, or with all sets, which alternate. */
int plan_program(const struct plan *p, const struct tree_ctx *c, struct err *e);

/* Whether this run counts @event. *@set is the event set that counts it in contexts. */
bool plan_counts(const struct plan *p, unsigned event, int *set);

/* The displayed name of an event or metric of the plan. Where CPUs have different PMUs, it includes
 * Linux's name of the PMU: cpu_core/NAME/MODIFIERS, in @room. */
enum { PLAN_LABEL = PFM_PREFIX_ROOM + EVENT_TEXT + 3 };
const char *plan_label(const struct plan *p, const char *name, char room[PLAN_LABEL]);

void plan_free(struct plan *p);
void plans_free(struct plans *plans);

#endif
