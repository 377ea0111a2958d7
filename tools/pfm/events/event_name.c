// SPDX-License-Identifier: MIT
#include "tools/pfm/events/event_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/pfm/events/libpfm.h"

bool event_name_matches(
	const struct pfm_pmu *pmu, const struct pfm_event *event, const struct event_row *row)
{
	struct pfm_event named;
	struct err e;

	if (!row->active || row->umc || event_resolve(pmu, row->name, &named, &e) < 0)
		return false;
	if (pmu->escrs)
		return named.code == event->code && named.escrs & event->escrs;
	if (!(event->counters & pmu->general))
		return named.counters & event->counters & ~pmu->general;
	return named.code == event->code || named.code == (event->code & ~EVENT_SEL_MODIFIERS);
}

/* Whether @row is an event of the same ESCR with some of the masks of @event. */
static bool event_name_is_part(const struct event_row *row, const struct pfm_event *event)
{
	return row->active && row->escrs & event->escrs && !(row->code & ~event->code) &&
	       !((row->code ^ event->code) & PFM_ESCR_EVENT) && strchr(row->name, ':');
}

const char *event_name_join(
	const struct pfm_pmu *pmu, const struct pfm_event *event, char room[EVENT_TEXT])
{
	uint64_t code = 0;
	size_t n = 0;

	*room = '\0';
	for (const struct event_row *r = pmu->events.rows; r < pmu->events.rows + pmu->events.n;
		r++) {
		if (!event_name_is_part(r, event) || !(r->code & ~code) || n >= EVENT_TEXT)
			continue;
		n += (size_t)snprintf(
			room + n, EVENT_TEXT - n, "%s", n ? strchr(r->name, ':') : r->name);
		code |= r->code;
	}
	if (code != event->code || n >= EVENT_TEXT)
		*room = '\0';
	return room;
}

/* Parses a PMC value into an event without a name. False: it has no level, so it counts nothing. */
static bool event_name_parse(const struct pfm_pmu *pmu, const struct pfm_counter *d, unsigned pmc,
	uint64_t value, struct pfm_event *event)
{
	char text[32];
	struct err e;

	if (pmu->escrs)
		snprintf(text, sizeof(text), "pmc%u=0x%" PRIx64, pmc, value);
	else
		snprintf(text, sizeof(text), "0x%" PRIx64, value);
	if (d->fixed < 0)
		return event_resolve(pmu, text, event, &e) == 0 && event->level;
	value >>= PFM_FIXED_BITS * d->fixed;
	*event = (struct pfm_event){.counters = pfm_pmu_fixed(pmu, (unsigned)d->fixed)};
	event->level = (value & 1 ? EVENT_KERNEL : 0) | (value & 2 ? EVENT_USER : 0);
	return event->level;
}

/* Keeps the first name. */
static void event_name_keep(void *arg, const char *name, const char *desc)
{
	char *room = arg;

	(void)desc;
	if (!*room)
		snprintf(room, EVENT_TEXT, "%s", name);
}

static void event_name_find(
	const struct pfm_pmu *pmu, const struct pfm_event *event, char room[EVENT_TEXT])
{
	for (unsigned i = 0; i < pmu->events.n && !*room; i++)
		if (event_name_matches(pmu, event, &pmu->events.rows[i]))
			event_name_keep(room, pmu->events.rows[i].name, NULL);
	if (!*room && event->escrs)
		event_name_join(pmu, event, room);
	if (!*room && event->counters & pmu->general && pmu->cpu.encoding != ARCH_NONE)
		libpfm_each_of_code(
			pmu->cpu.encoding, slice_of(""), event->code, event_name_keep, room);
}

const char *event_name_of(const struct pfm_pmu *pmu, const struct pfm_counter *d, unsigned pmc,
	uint64_t value, char room[EVENT_TEXT])
{
	static const char *const levels[] = {"", ":u", ":k", ""};
	struct pfm_event event;

	*room = '\0';
	/* A name would hide modifiers. */
	if (event_name_parse(pmu, d, pmc, value, &event) &&
		(d->fixed >= 0 || pmu->escrs || !(event.code & EVENT_SEL_MODIFIERS)))
		event_name_find(pmu, &event, room);
	if (*room)
		strncat(room, levels[event.level], EVENT_TEXT - strlen(room) - 1);
	else
		snprintf(room, EVENT_TEXT, "pmc%u=0x%" PRIx64, pmc, value);
	return room;
}
