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
	int sort;         /* by the event of that number, largest first; -1: by id */
	unsigned columns; /* of the terminal; 0: as many as there are */
};

/* In the order of table->sort; rows without that value come last. */
void table_sort(const struct table *table, struct top *t);

/* Appends a line, without a newline. */
void table_header(struct text *out, const struct table *table, const struct plan *plan);
void table_row(struct text *out, const struct table *table, const struct plan *plan,
	const struct top_row *row);

/* A rate of the event of that name, with its unit; NAN: it is lost. Returns @room or a constant. */
enum { TABLE_RATE_ROOM = DIGITS_ROOM + 4 };
const char *table_rate(char room[TABLE_RATE_ROOM], const char *event, double rate);

/* Cuts what is behind the last column of the line that begins at @begin of @out. */
void table_cut(struct text *out, size_t begin, unsigned columns);

#endif
