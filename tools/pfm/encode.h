/* SPDX-License-Identifier: MIT */
/* Values of PMCs by the names of events, for `pfm encode` and libpfmfs. */
#ifndef TOOLS_PFM_ENCODE_H
#define TOOLS_PFM_ENCODE_H

#include "tools/pfm/events/event.h"
#include "tools/pfm/load_pmu.h"

/*
 * Computes the value of a PMC that counts @event. An event select is preferred if one can count the
 * event, since all event selects are alike. Returns 1; 2 on NetBurst, whose ESCRs and CCCRs are not
 * alike, so that the event needs both PMCs; or -errno.
 */
int encode_value(const struct pfm_pmu *pmu, const struct pfm_event *event,
	struct event_setting out[EVENT_MAX_SETTINGS], struct err *e);

/* Finds the PMU of the CPUs that @type or the prefix of the event names, or else what all CPUs
 * have. */
int encode_find_pmu(const struct pmus *pmus, const char *type, const char *event,
	const struct pfm_pmu **pmu, struct err *e);

/* Finds the type of CPUs that an event names; NULL ends @events. It is the type of all events, as
 * the registers of a context are of one CPU. */
const char *encode_find_type(const struct pmus *pmus, const char *const *events);

#endif
