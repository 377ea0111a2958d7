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
	/* As the user wrote it, with modifiers, but without the prefix of the PMU's own type. */
	char name[EVENT_TEXT];
	uint64_t code;  /* as in struct event_row, with edge, invert, counter mask and precision */
	unsigned level; /* EVENT_USER, EVENT_KERNEL or both; 0: not given in the text */
	uint64_t counters; /* counters of the PMU that can count it, as bits; not 0 */
	uint64_t escrs; /* NetBurst: ESCRs that can have the event, as bits by PMC; 0: not needed */
	uint64_t cccr;  /* with an ESCR: bits of the CCCR that compare and threshold */
	bool umc;       /* memory controllers count it, at both levels */
	int extra_pmc;  /* number of the extra register's PMC; -1: not needed */
	uint64_t extra; /* the value of that register */
};

/*
 * Finds the event that @text names. -ENOENT: no such event, with the names nearest to it; -EINVAL:
 * syntax; -ERANGE: a number; -EOPNOTSUPP: the PMU lacks the counter or the extra register, or is of
 * another type of CPUs than the event.
 */
int event_resolve(
	const struct pfm_pmu *pmu, const char *text, struct pfm_event *event, struct err *e);

/*
 * Checks the level of @event. -EACCES: the kernel counts it only at both levels together, and
 * @allowed has one; -EINVAL: the text of such an event names a level, or asks for precise
 * samples where there are none. If the event is to be @sampled, clocks may be at user level.
 */
int event_check_level(const struct pfm_pmu *pmu, const struct pfm_event *event, bool sampled,
	unsigned allowed, struct err *e);

/* The type of CPUs, in pmu->types, that the prefix of an event names; NULL: none. */
const char *event_type(const struct pfm_pmu *pmu, const char *text);

/* Where an event is counted. */
struct event_place {
	int row;  /* the counter, as an index of pmu->counters */
	int escr; /* the PMC of the ESCR, from event.escrs; -1: the event needs none */
};

/* A PMC and its value, for a line of `regs`. */
struct event_setting {
	unsigned pmc;
	uint64_t value;
};

/* A PMC has at most one setting. */
enum { EVENT_MAX = 32, EVENT_MAX_SETTINGS = PFM_PMU_REGS + 1 };

/* Computes the settings that count events[i] at places[i]. @n is at most EVENT_MAX. Events without
 * a level get @level. Returns the number of settings. */
unsigned event_program(const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n,
	const struct event_place *places, unsigned level,
	struct event_setting out[EVENT_MAX_SETTINGS]);

/* Whether libpfm4 may have events of @source, the text before "::". An empty source means the
 * machine's PMU, which is not that of a simulated tree, and which the kernel may lack. */
bool event_may_be_libpfm(const struct pfm_pmu *pmu, struct slice source);

#endif
