// SPDX-License-Identifier: MIT
#include "tools/pfm/events/group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pfm/events/nearest.h"

/* Room for the groups in a sentence, in bytes. */
enum { GROUP_NAMES = 120 };

static int group_copy(struct slice s, const char *what, char *to, size_t room, struct err *e)
{
	if (!s.n || s.n >= room)
		return err_set(e, EINVAL, "%s of 1 to %zu bytes is missing", what, room - 1);
	memcpy(to, s.p, s.n);
	to[s.n] = '\0';
	return 0;
}

static int group_label_index(const void *arg, struct slice name)
{
	const struct group *g = arg;

	for (unsigned i = 0; i < g->nevents; i++)
		if (slice_is(name, g->events[i].label))
			return (int)i;
	return -1;
}

/* Parses event LABEL [= EVENT]. */
static int group_parse_event(struct group *g, struct slice line, struct err *e)
{
	struct slice text = line, label = slice_trim(slice_cut(&text, '='));
	struct group_event *event = &g->events[g->nevents];
	int rc;

	text = slice_trim(text);
	if (label.n == slice_trim(line).n)
		text = label;
	if (g->nevents == EVENT_MAX)
		return err_set(e, EINVAL, "more than %d events in a group", EVENT_MAX);
	if (group_label_index(g, label) >= 0 || slice_is(label, "seconds"))
		return err_set(e, EINVAL, "the name %.*s is already used", SLICE_ARG(label));
	rc = group_copy(label, "a name", event->label, sizeof(event->label), e);
	if (rc == 0)
		rc = group_copy(text, "an event", event->text, sizeof(event->text), e);
	if (rc == 0)
		g->nevents++;
	return rc;
}

/* Parses NAME or NAME [UNIT]. */
static int group_parse_metric_name(struct group_metric *m, struct slice text, struct err *e)
{
	struct slice name = slice_word(&text), unit = slice_trim(text);
	int rc = group_copy(name, "a name", m->name, sizeof(m->name), e);

	m->unit[0] = '\0';
	if (rc < 0 || !unit.n)
		return rc;
	if (unit.n < 3 || unit.p[0] != '[' || unit.p[unit.n - 1] != ']')
		return err_set(e, EINVAL, "write metric NAME [UNIT] = FORMULA");
	return group_copy(
		(struct slice){unit.p + 1, unit.n - 2}, "a unit", m->unit, sizeof(m->unit), e);
}

/* Parses metric NAME [UNIT] = FORMULA ; DESCRIPTION. */
static int group_parse_metric(struct group *g, struct slice line, struct err *e)
{
	struct slice desc = line, formula = slice_cut(&desc, ';');
	struct slice name = slice_cut(&formula, '=');
	struct group_metric *m = &g->metrics[g->nmetrics];
	int rc;

	if (g->nmetrics == GROUP_METRICS)
		return err_set(e, EINVAL, "more than %d metrics in a group", GROUP_METRICS);
	formula = slice_trim(formula);
	desc = slice_trim(desc);
	m->desc[0] = '\0';
	rc = group_parse_metric_name(m, name, e);
	if (rc == 0)
		rc = group_copy(formula, "a formula", m->text, sizeof(m->text), e);
	if (rc == 0 && desc.n)
		rc = group_copy(desc, "a description", m->desc, sizeof(m->desc), e);
	if (rc == 0)
		rc = formula_parse(formula, group_label_index, g, &m->formula, e);
	if (rc == 0)
		g->nmetrics++;
	return rc;
}

/* Parses group NAME DESCRIPTION. */
static int group_begin(struct group_list *list, struct slice line, struct err *e)
{
	struct slice name = slice_word(&line), desc = slice_trim(line);
	struct group *groups = realloc(list->groups, (list->n + 1) * sizeof(*groups)), *g;
	int rc;

	if (!groups)
		return err_set(e, ENOMEM, "no memory for a group");
	list->groups = groups;
	g = &groups[list->n];
	memset(g, 0, sizeof(*g));
	rc = group_copy(name, "a name", g->name, sizeof(g->name), e);
	if (rc == 0 && desc.n)
		rc = group_copy(desc, "a description", g->desc, sizeof(g->desc), e);
	if (rc == 0)
		list->n++;
	return rc;
}

/* Parses a line. @first: the number of groups before those of the file. */
static int group_parse_line(
	struct group_list *list, unsigned first, struct slice line, struct err *e)
{
	struct slice word = slice_word(&line);
	bool event = slice_is(word, "event"), metric = slice_is(word, "metric");

	if (!word.n)
		return 0;
	if (slice_is(word, "group"))
		return group_begin(list, line, e);
	if (!event && !metric)
		return err_set(e, EINVAL,
			"a line begins with group, event or metric, not with '%.*s'",
			SLICE_ARG(word));
	if (list->n == first)
		return err_set(e, EINVAL, "a line 'group NAME' must come first");
	return event ? group_parse_event(&list->groups[list->n - 1], line, e)
		     : group_parse_metric(&list->groups[list->n - 1], line, e);
}

int group_parse(struct slice text, const char *path, struct group_list *list, struct err *e)
{
	unsigned first = list->n;

	if (text.n && memchr(text.p, '\0', text.n))
		return err_set(e, EINVAL, "%s: a group file is text, without NUL characters", path);
	for (unsigned nr = 1; text.n; nr++) {
		struct slice line = slice_cut(&text, '\n');

		if (group_parse_line(list, first, slice_cut(&line, '#'), e) < 0)
			return err_prefix(e, "%s:%u", path, nr);
	}
	return 0;
}

void group_free(struct group_list *list)
{
	free(list->groups);
	*list = (struct group_list){0};
}

int group_resolve(const struct group *g, const struct pfm_pmu *pmu,
	struct pfm_event events[EVENT_MAX], struct err *e)
{
	for (unsigned i = 0; i < g->nevents; i++) {
		int rc = event_resolve(pmu, g->events[i].text, &events[i], e);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Lists the groups that @pmu has in @room: "a, b"; "none" if there are none. */
static const char *group_names(
	const struct group_list *list, const struct pfm_pmu *pmu, char *room, size_t size)
{
	struct pfm_event events[EVENT_MAX];
	size_t n = 0;
	struct err e;

	strcpy(room, "none");
	for (const struct group *g = list->groups; g < list->groups + list->n && n < size; g++)
		if (group_resolve(g, pmu, events, &e) == 0)
			n += (size_t)snprintf(room + n, size - n, "%s%s", n ? ", " : "", g->name);
	return room;
}

static int group_unknown(
	const struct group_list *list, const struct pfm_pmu *pmu, const char *name, struct err *e)
{
	char room[NEAREST_ROOM], names[GROUP_NAMES];
	struct nearest near = {0};

	for (unsigned i = 0; i < list->n; i++)
		nearest_offer(&near, slice_of(name), list->groups[i].name);
	if (near.n)
		return err_set(
			e, ENOENT, "no group '%.40s': is it %s?", name, nearest_text(&near, room));
	return err_set(e, ENOENT, "no group '%.40s': this PMU has %s", name,
		group_names(list, pmu, names, sizeof(names)));
}

/* Refuses a group whose events the PMU lacks, and lists the groups that it has. */
static int group_refuse(
	const struct group_list *list, const struct pfm_pmu *pmu, const char *name, struct err *e)
{
	char names[GROUP_NAMES];
	struct err why = *e;

	return err_set(e, why.no, "group %.40s: %.200s; groups of this PMU: %s", name, why.text,
		group_names(list, pmu, names, sizeof(names)));
}

int group_find(const struct group_list *list, const struct pfm_pmu *pmu, const char *name,
	const struct group **group, struct pfm_event events[EVENT_MAX], struct err *e)
{
	bool known = false;
	int rc;

	for (const struct group *g = list->groups; g < list->groups + list->n; g++) {
		if (strcmp(g->name, name) != 0)
			continue;
		known = true;
		*group = g;
		rc = group_resolve(g, pmu, events, e);
		if (rc == 0) {
			*e = (struct err){0};
			return 0;
		}
	}
	return known ? group_refuse(list, pmu, name, e) : group_unknown(list, pmu, name, e);
}
