/* SPDX-License-Identifier: MIT */
/* Assigns counters to events. */
#ifndef TOOLS_PFM_EVENTS_ASSIGN_H
#define TOOLS_PFM_EVENTS_ASSIGN_H

#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/events/event.h"

/*
 * Gives each of the @n events, at most EVENT_MAX, its own counter of the set @free, and if it needs
 * one, its own ESCR that the counter's CCCR can choose: places[i] is for events[i]. Finds an
 * assignment if there is one. Events with fixed counters get these, so that the others have more
 * choice.
 *
 * Names the smallest set of events that cannot be counted together if there is none. -EBUSY: all
 * counters of @pmu would suffice; -ENOSPC: they would not; -EINVAL: too many events.
 */
int assign_events(const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n,
	uint64_t free, struct event_place *places, struct err *e);
/* That set, as bits; 0: all can be counted. At most EVENT_MAX events. */
uint32_t assign_conflict(
	const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n, uint64_t free);

#endif
