// SPDX-License-Identifier: MIT
#include "tools/pfm/encode.h"

#include "tools/pfm/events/assign.h"

int encode_value(const struct pfm_pmu *pmu, const struct pfm_event *event,
	struct event_setting out[EVENT_MAX_SETTINGS], struct err *e)
{
	uint64_t general = event->counters & pmu->general;
	struct event_place place;
	int rc = assign_events(pmu, event, 1, general ? general : pmu->all, &place, e);

	if (rc < 0)
		return rc;
	event_program(pmu, event, 1, &place, EVENT_USER | EVENT_KERNEL, out);
	return place.escr >= 0 ? 2 : 1;
}

int encode_find_pmu(const struct pmus *pmus, const char *type, const char *event,
	const struct pfm_pmu **pmu, struct err *e)
{
	const char *named = type ? type : event_type(&pmus->common, event);

	*pmu = &pmus->common;
	return named ? pmus_find(pmus, named, pmu, e) : 0;
}

const char *encode_find_type(const struct pmus *pmus, const char *const *events)
{
	const char *type = NULL;

	for (; *events && !type; events++)
		type = event_type(&pmus->common, *events);
	return type;
}
