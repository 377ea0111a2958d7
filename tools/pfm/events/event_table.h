/* SPDX-License-Identifier: MIT */
/* Named events: those of the tree, the architectural ones, and those of event files. */
#ifndef TOOLS_PFM_EVENTS_EVENT_TABLE_H
#define TOOLS_PFM_EVENTS_EVENT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

enum { EVENT_NAME = 96, EVENT_DESC = 160, EVENT_SOURCE = 32, EVENT_ALIASES = 48 };

struct event_row {
	char name[EVENT_NAME];
	char desc[EVENT_DESC];
	/* The event file without its suffix, "tree", or "architectural". */
	char source[EVENT_SOURCE];
	char aliases[EVENT_ALIASES]; /* other names of the source, each with a blank behind it */
	/*
	 * Bits of an event select without level, enable and interrupt. Unit mask N with event 0 is
	 * an event that only fixed counter N - 1 of an Intel PMU counts. With @escrs, bits of an
	 * ESCR without level.
	 */
	uint64_t code;
	uint64_t extra;    /* value of the extra register that belongs to @code, if has_extra */
	uint64_t counters; /* those that can count it; EVENT_ANY_COUNTER: no restriction */
	uint64_t escrs;    /* of NetBurst: PMCs of which one has @code; 0: no event of NetBurst */
	bool has_extra;
	bool umc;    /* memory controllers count it: @code is that of their selectors */
	bool active; /* found without its source: it is of this PMU */
};

#define EVENT_ANY_COUNTER UINT64_MAX

struct event_table {
	struct event_row *rows;
	unsigned n, room;
};

/* Appends a copy of @row. -ENOMEM. */
int event_table_add(struct event_table *t, const struct event_row *row, struct err *e);
void event_table_free(struct event_table *t);

/* Upper and lower case are the same, and so are the separators of unit masks, "." and ":". */
bool event_name_is(struct slice name, const char *other);
/* @part occurs in @text, in the same sense. */
bool event_name_has(const char *text, struct slice part);

/* @r is of @source, by its name or another one; of an empty @source: it is active. */
bool event_row_is_of(const struct event_row *r, struct slice source);

/* The first active row of that name, or with @source the first of it. NULL: there is none. */
const struct event_row *event_table_find(
	const struct event_table *t, struct slice name, struct slice source);

#endif
