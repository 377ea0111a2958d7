/* SPDX-License-Identifier: MIT */
/* Groups of events with metrics, see pfm-events(5). */
#ifndef TOOLS_PFM_EVENTS_GROUP_H
#define TOOLS_PFM_EVENTS_GROUP_H

#include "base/err.h"
#include "base/slice.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/events/formula.h"

enum { GROUP_NAME = 48, GROUP_UNIT = 16, GROUP_METRICS = 16 };

struct group_event {
	char label[EVENT_TEXT]; /* its name in formulas and output */
	char text[EVENT_TEXT];  /* for event_resolve() */
};

struct group_metric {
	char name[GROUP_NAME];
	char unit[GROUP_UNIT]; /* "" if there is none */
	char desc[EVENT_DESC];
	char text[EVENT_DESC];  /* the formula as written */
	struct formula formula; /* of values in the order of the group's events */
};

struct group {
	char name[GROUP_NAME];
	char desc[EVENT_DESC];
	struct group_event events[EVENT_MAX];
	struct group_metric metrics[GROUP_METRICS];
	unsigned nevents, nmetrics;
};

struct group_list {
	struct group *groups;
	unsigned n;
};

/* Appends the groups of a file. @path is for errors. -EINVAL with path:line; -ENOMEM. */
int group_parse(struct slice text, const char *path, struct group_list *list, struct err *e);
void group_free(struct group_list *list);

/* Resolves the group's events. Fails as event_resolve() does. */
int group_resolve(const struct group *g, const struct pfm_pmu *pmu,
	struct pfm_event events[EVENT_MAX], struct err *e);

/*
 * Finds the first group with that name whose events @pmu has, and resolves them. -ENOENT: no group
 * has that name; the sentence has the nearest names. Otherwise fails like event_resolve() for the
 * last group with that name.
 */
int group_find(const struct group_list *list, const struct pfm_pmu *pmu, const char *name,
	const struct group **group, struct pfm_event events[EVENT_MAX], struct err *e);

#endif
