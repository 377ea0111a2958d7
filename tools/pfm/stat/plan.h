/* SPDX-License-Identifier: MIT */
/* What is counted: events, the counter and the event set of each, and the registers that this
 * takes. */
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
	struct event_place places[EVENT_MAX]; /* of each event */
	int sets[EVENT_MAX];                  /* its event set, from 0 on */
	unsigned n;                           /* events */
	/* The group of the first events, whose metrics are shown; NULL: none. */
	const struct group *group;
	unsigned nsets; /* event sets; 1: all events are counted together */
	int only;       /* the set that this run counts, as set 0 of contexts; -1: all of them */
	unsigned level; /* of events that name none: EVENT_USER, EVENT_KERNEL */
	uint64_t free;  /* counters that no other software uses, as bits */
	uint64_t timeout_ns;         /* of each set, if there are several */
	struct text regs[PLAN_SETS]; /* the registers of each set, for its file regs */
	const struct pfm_pmu *pmu;   /* that counts them */
	struct text cpus;            /* where threads are counted, a list; empty: on all CPUs */
};

/* Of the places that are counted: one, or where CPUs have different PMUs, one for each type. */
struct plans {
	struct plan all[PFM_PMU_TYPES];
	unsigned n;
};

/* The events that options name; NULL: not given. Without any, they are the defaults. */
struct plan_events {
	const char *events; /* a list */
	const char *group;
};

/* Adds the events of @list, which commas separate. -E2BIG: too many. */
int plan_add(struct plan *p, const struct pfm_pmu *pmu, const char *list, struct err *e);

/*
 * Adds the events of a group, by the names that the group gives them. There must be no other events
 * yet, and @groups must stay.
 */
int plan_add_group(struct plan *p, const struct pfm_pmu *pmu, const struct group_list *groups,
	const char *name, struct err *e);

/*
 * The same for each of the plans, whose PMUs are set: an event that the CPUs of one type lack is
 * counted on the others. Fails if none has it.
 */
int plans_add(struct plans *plans, const char *list, struct err *e);
int plans_add_group(
	struct plans *plans, const struct group_list *groups, const char *name, struct err *e);
int plans_add_defaults(struct plans *plans, struct err *e);

/* Adds those that people want first, as far as the PMU has them and counters for them. */
int plan_add_defaults(struct plan *p, const struct pfm_pmu *pmu, struct err *e);

/*
 * Finds the counters. Events that do not fit together are in several event sets if @sets; otherwise
 * that is -ENOSPC or -EBUSY, and the sentence names the smallest set of events that does not fit.
 */
int plan_assign(struct plan *p, const struct pfm_pmu *pmu, bool sets, struct err *e);

/* Programs the context with the set @only, or with all sets, which alternate. */
int plan_program(const struct plan *p, const struct tree_ctx *c, struct err *e);

/* Whether this run counts @event, and if so the event set of contexts where it does. */
bool plan_counts(const struct plan *p, unsigned event, int *set);

/*
 * How @name, of an event or metric of the plan, is shown. Where CPUs have different PMUs, with
 * Linux's name of that: cpu_core/NAME/MODIFIERS, in @room.
 */
enum { PLAN_LABEL = PFM_PREFIX_ROOM + EVENT_TEXT + 3 };
const char *plan_label(const struct plan *p, const char *name, char room[PLAN_LABEL]);

void plan_free(struct plan *p);
void plans_free(struct plans *plans);

#endif
