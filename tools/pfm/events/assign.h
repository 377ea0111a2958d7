/* SPDX-License-Identifier: MIT */
/* Which counter counts which event. */
#ifndef TOOLS_PFM_EVENTS_ASSIGN_H
#define TOOLS_PFM_EVENTS_ASSIGN_H

#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/events/event.h"

/*
 * Gives each of the @n events, at most EVENT_MAX, a counter of its own among those of @free, as
 * bits, and if it needs one, an ESCR of its own that the counter's CCCR chooses: places[i] for
 * events[i]. It finds an assignment if there is one. Events with fixed counters get these, so that
 * the others have more choice.
 *
 * Fails with the smallest set of events that cannot be counted together, in *@conflict, as bits:
 * -EBUSY if they could with all counters of @pmu, -ENOSPC if not, -EINVAL for too many events.
 */
int assign_events(const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n,
	uint64_t free, struct event_place *places, uint32_t *conflict, struct err *e);

#endif
