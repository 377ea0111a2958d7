/* SPDX-License-Identifier: MIT */
/*
 * Events as users write them, see pfm-events(5), and the values of PMCs that count them:
 * event_resolve() for each, assign_events() for all, then event_program().
 */
#ifndef TOOLS_PFM_EVENTS_EVENT_H
#define TOOLS_PFM_EVENTS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "tools/pfm/events/pfm_pmu.h"

enum { EVENT_TEXT = 128 };

/* Levels of privilege, as bits. */
enum { EVENT_USER = 1, EVENT_KERNEL = 2 };

struct pfm_event {
	/* As the user has written it, with modifiers; without the prefix of the PMU's own type. */
	char name[EVENT_TEXT];
	uint64_t code;     /* as in struct event_row, with edge, invert and counter mask */
	unsigned level;    /* EVENT_USER, EVENT_KERNEL or both; 0: the text gives none */
	uint64_t counters; /* those of the PMU that can count it, as bits; not 0 */
	uint64_t escrs;    /* PMCs of NetBurst of which one has the event, as bits; 0: none */
	uint64_t cccr;     /* with an ESCR: bits for the CCCR that compare and threshold */
	bool umc;          /* memory controllers count it, at both levels */
	int extra_pmc;     /* number of the extra register that it needs; -1: none */
	uint64_t extra;    /* the value of that register */
};

/*
 * Finds the event that @text names. -ENOENT: no such event, with the names nearest to it; -EINVAL:
 * syntax; -ERANGE: a number; -EOPNOTSUPP: the PMU lacks the counter or the extra register, or is of
 * another type of CPUs than the event.
 */
int event_resolve(
	const struct pfm_pmu *pmu, const char *text, struct pfm_event *event, struct err *e);

/*
 * -EACCES: the kernel counts @event at both levels or not at all, and @allowed are not both;
 * -EINVAL: its text names one.
 */
int event_check_level(
	const struct pfm_pmu *pmu, const struct pfm_event *event, unsigned allowed, struct err *e);

/* The type of CPUs that the prefix of an event names, of pmu->types; NULL: it has none. */
const char *event_type(const struct pfm_pmu *pmu, const char *text);

/* Where an event is counted. */
struct event_place {
	int row;  /* the counter, as an index of pmu->counters */
	int escr; /* the PMC that has the event, of event.escrs; -1: the event needs none */
};

/* A PMC and its value, for a line of `regs`. */
struct event_setting {
	unsigned pmc;
	uint64_t value;
};

/* There is one setting for a PMC, at most. */
enum { EVENT_MAX = 32, EVENT_MAX_SETTINGS = PFM_PMU_REGS + 1 };

/*
 * The settings with which events[i], of which there are at most EVENT_MAX, is counted at
 * places[i]. Events without a level get @level. Returns their number.
 */
unsigned event_program(const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n,
	const struct event_place *places, unsigned level,
	struct event_setting out[EVENT_MAX_SETTINGS]);

/*
 * Whether libpfm4 has events of that source, which is before "::". Without a source, they are
 * those of the machine's PMU, which a simulated one is not, and which the kernel may not have.
 */
bool event_may_be_libpfm(const struct pfm_pmu *pmu, struct slice source);

#endif
