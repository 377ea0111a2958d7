/* SPDX-License-Identifier: MIT */
/* The names that a mistyped name may mean. */
#ifndef TOOLS_PFM_EVENTS_NEAREST_H
#define TOOLS_PFM_EVENTS_NEAREST_H

#include "base/slice.h"
#include "tools/pfm/events/event_table.h"

enum { NEAREST_MAX = 3, NEAREST_ROOM = NEAREST_MAX * (EVENT_NAME + 8) };

struct nearest {
	char names[NEAREST_MAX][EVENT_NAME]; /* nearest first */
	unsigned distance[NEAREST_MAX];
	unsigned n;
};

/* Offers @candidate for @name. It is kept if it is near, and among the nearest so far. */
void nearest_offer(struct nearest *near, struct slice name, const char *candidate);

/* "a", "a or b", "a, b or c"; "" if there are none. Returns @room. */
const char *nearest_text(const struct nearest *near, char room[NEAREST_ROOM]);

#endif
