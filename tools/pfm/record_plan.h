/* SPDX-License-Identifier: MIT */
/* What is sampled, how often, and where: for pfm record and pfm top -f. */
#ifndef TOOLS_PFM_RECORD_PLAN_H
#define TOOLS_PFM_RECORD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/samples/recorder.h"
#include "tools/pfm/stat/place_options.h"
#include "tools/pfm/tree/tree.h"

enum { RECORD_HZ_MAX = 100000 };

/* How often an event is sampled. */
struct record_pace {
	uint64_t hz;     /* 0: not given */
	uint64_t period; /* 0: not given */
};

struct record_event {
	char name[EVENT_TEXT];
	struct record_pace pace;
};

/* What the user has chosen. */
struct record_wanted {
	struct place_options where;
	struct record_event events[SAMPLING_EVENTS];
	unsigned nevents;        /* 0: the first suitable event of the backend */
	struct record_pace pace; /* of events without their own */
	bool stacks;
	const char *waits; /* name of the event in the file, for --off-cpu and --wall; NULL: none */
	uint32_t user_stack; /* bytes, for --call-graph=dwarf; 0: by frame pointers */
};

struct record_plan {
	struct pfm_event events[SAMPLING_EVENTS]; /* sampling.n */
	char pmcs[64 * EVENT_MAX_SETTINGS];
	struct sampling sampling;
	uint64_t tick_ns; /* minimum time between polls */
};

extern const char record_off_cpu[], record_wall[]; /* record_wanted.waits */

/* The option that gave o->waits. */
const char *record_waits_option(const struct record_wanted *o);

/* Chooses counters, periods and buffers, and adds the events of o->waits. */
int record_plan_make(
	struct record_plan *plan, struct record_wanted *o, const struct tree *t, struct err *e);

/* Adds lines for a recording's information: which machine it is, and since which boot. */
void record_plan_add_machine(struct text *info);

/* Adds a context on @id to the recorder. */
int record_plan_add_place(
	struct recorder *r, const struct tree *t, enum place_kind kind, int id, struct err *e);
/* Adds a context on each place that is wanted, which is no command. */
int record_plan_add_list(
	struct recorder *r, const struct tree *t, const struct record_wanted *o, struct err *e);

#endif
