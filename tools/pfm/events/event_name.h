/* SPDX-License-Identifier: MIT */
/* Finds event names for PMC values. */
#ifndef TOOLS_PFM_EVENTS_EVENT_NAME_H
#define TOOLS_PFM_EVENTS_EVENT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/pfm/events/event.h"
#include "tools/pfm/events/event_code.h"

/* Edge, invert and counter mask of an event select. */
#define EVENT_SEL_MODIFIERS (EVENT_SEL_EDGE | EVENT_SEL_INVERT | 0xffULL << EVENT_SEL_CMASK)

/* Whether @row counts the same as @event of a CPU, or would with the modifiers of @event. */
bool event_name_matches(
	const struct pfm_pmu *pmu, const struct pfm_event *event, const struct event_row *row);

/* Joins rows into the name EVENT:MASK:MASK of a NetBurst event; "" if no rows make up the mask of
 * @event. Returns @room. */
const char *event_name_join(
	const struct pfm_pmu *pmu, const struct pfm_event *event, char room[EVENT_TEXT]);

/*
 * The event that counter @d of a CPU counts while its selector, PMC @pmc, has @value: a text for
 * event_resolve(), with the level unless that is both. Without a name, @room gets the value.
 * Returns @room.
 */
const char *event_name_of(const struct pfm_pmu *pmu, const struct pfm_counter *d, unsigned pmc,
	uint64_t value, char room[EVENT_TEXT]);

#endif
