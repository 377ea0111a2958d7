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
	/* Name of the event file without its suffix, "tree", or "architectural". */
	char source[EVENT_SOURCE];
	char aliases[EVENT_ALIASES]; /* other names of the source, each followed by a blank */
	/*
	 * Bits of an event select without level, enable and interrupt. Event 0 with unit mask N is
	 * an event that only fixed counter N - 1 of an Intel PMU counts. With @escrs, bits of an
	 * ESCR without level.
	 */
	uint64_t code;
	uint64_t extra;    /* value of the extra register that belongs to @code, if has_extra */
	uint64_t counters; /* counters that can count it; EVENT_ANY_COUNTER: any */
	uint64_t escrs;    /* NetBurst: ESCRs that can have @code, as bits by PMC; 0: none */
	bool has_extra;
	bool umc;    /* memory controllers count it: @code is for their selectors */
	bool active; /* of this PMU: its name needs no source */
};

#define EVENT_ANY_COUNTER UINT64_MAX

struct event_table {
	struct event_row *rows;
	unsigned n, room;
};

/* Appends a copy of @row. -ENOMEM. */
int event_table_add(struct event_table *t, const struct event_row *row, struct err *e);
void event_table_free(struct event_table *t);

/* Compares names without regard to case; "." and ":" separate unit masks alike. */
bool event_name_is(struct slice name, const char *other);
/* Whether @part occurs in @text, compared in the same way. */
bool event_name_has(const char *text, struct slice part);

/* Whether @r is of @source, which may be an alias; with an empty @source, whether it is active. */
bool event_row_is_of(const struct event_row *r, struct slice source);

/* The first active row with that name, or the first of @source if that is given. NULL: none. */
const struct event_row *event_table_find(
	const struct event_table *t, struct slice name, struct slice source);

#endif
