/* SPDX-License-Identifier: MIT */
/* Rows as lines of text. */
#ifndef TOOLS_PFM_TOP_TABLE_H
#define TOOLS_PFM_TOP_TABLE_H

#include <stdbool.h>

#include "base/text.h"
#include "tools/pfm/text/digits.h"
#include "tools/pfm/top/rows.h"

struct table {
	const char *id;   /* the title of the first column */
	bool commands;    /* rows have names */
	int sort;         /* index of the event to sort by, largest first; -1: by id */
	unsigned columns; /* of the terminal; 0: no limit */
};

/* Sorts rows by table->sort; rows without that value come last. */
void table_sort(const struct table *table, struct top *t);

/* These append a line, without a newline. */
void table_header(struct text *out, const struct table *table, const struct plan *plan);
void table_row(struct text *out, const struct table *table, const struct plan *plan,
	const struct top_row *row);

/* Formats a rate of @event, with its unit; NAN: it is lost. Returns @room or a constant. */
enum { TABLE_RATE_ROOM = DIGITS_ROOM + 4 };
const char *table_rate(char room[TABLE_RATE_ROOM], const char *event, double rate);

/* Cuts off the text after the last column of the line that begins at @begin of @out. */
void table_cut(struct text *out, size_t begin, unsigned columns);

#endif
