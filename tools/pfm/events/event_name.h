/* SPDX-License-Identifier: MIT */
/* From the values of PMCs back to the names of events. */
#ifndef TOOLS_PFM_EVENTS_EVENT_NAME_H
#define TOOLS_PFM_EVENTS_EVENT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/pfm/events/event.h"

/* Edge, invert and counter mask of an event select. */
#define EVENT_SEL_MODIFIERS ((1ULL << 18) | (1ULL << 23) | 0xffULL << 24)

/* Whether @row counts the same as @event of a CPU, or does with the modifiers of @event. */
bool event_name_matches(
	const struct pfm_pmu *pmu, const struct pfm_event *event, const struct event_row *row);

/*
 * The event that counter @d of a CPU counts while its PMC has @value, as event_resolve() takes it,
 * with its level unless that is both. Without a name for it, @room gets the value. Returns @room.
 */
const char *event_name_of(const struct pfm_pmu *pmu, const struct pfm_counter *d, uint64_t value,
	char room[EVENT_TEXT]);

#endif
