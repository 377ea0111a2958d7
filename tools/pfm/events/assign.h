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
 * On failure, *@conflict has the smallest set of events that cannot be counted together, as bits:
 * -EBUSY if all counters of @pmu would suffice, -ENOSPC if not, -EINVAL for too many events.
 */
int assign_events(const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n,
	uint64_t free, struct event_place *places, uint32_t *conflict, struct err *e);

#endif
