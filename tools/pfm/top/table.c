// SPDX-License-Identifier: MIT
#include "tools/pfm/top/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pfm/stat/counts.h"
#include "tools/pfm/text/digits.h"

enum { TABLE_ID = 8, TABLE_VALUE = 13, TABLE_NAME = 16 };
#define TABLE_MAX 999999999.0 /* a larger rate does not fit into TABLE_VALUE columns */

/* --- Order */

static int table_compare(const void *a, const void *b, void *arg)
{
	const struct top_row *x = a, *y = b;
	const struct table *table = arg;
	double vx, vy;

	if (table->sort >= 0) {
		vx = isnan(x->rates[table->sort]) ? -1 : x->rates[table->sort];
		vy = isnan(y->rates[table->sort]) ? -1 : y->rates[table->sort];
		if (vx != vy)
			return vx < vy ? 1 : -1;
	}
	return (x->id > y->id) - (x->id < y->id);
}

void table_sort(const struct table *table, struct top *t)
{
	struct table order = *table;

	if (t->n)
		qsort_r(t->rows, t->n, sizeof(*t->rows), table_compare, &order);
}

/* --- Lines */

/* The width of an event's column with its whole name. */
static int table_full_width(const struct pfm_event *event)
{
	int n = (int)strlen(event->name);

	return n < TABLE_VALUE ? TABLE_VALUE : n;
}

/* The width of an event's column. If the terminal is too narrow for all names, they are cut to the
 * width of a value. */
static int table_width(const struct table *table, const struct plan *plan, unsigned event)
{
	unsigned all = TABLE_ID + TABLE_NAME;

	for (unsigned i = 0; i < plan->n; i++)
		all += (unsigned)table_full_width(&plan->events[i]) + 1;
	return table->columns && all > table->columns ? TABLE_VALUE
						      : table_full_width(&plan->events[event]);
}

/* The number of events that leave room for names; at least one. */
static unsigned table_events(const struct table *table, const struct plan *plan)
{
	unsigned n, room = TABLE_ID + TABLE_NAME;

	if (!table->columns)
		return plan->n;
	for (n = 0; n < plan->n; n++) {
		room += TABLE_VALUE + 1;
		if (n && room > table->columns)
			break;
	}
	return n;
}

/* Each character counts as one column. */
void table_cut(struct text *out, size_t begin, unsigned columns)
{
	size_t at = begin;

	if (!columns || !text_ok(out))
		return;
	for (unsigned n = 0; at < out->n; at++)
		if ((out->p[at] & 0xc0) != 0x80 && n++ == columns)
			break;
	out->p[at] = '\0';
	out->n = at;
}

void table_header(struct text *out, const struct table *table, const struct plan *plan)
{
	text_printf(out, "%*s", TABLE_ID - 1, table->id);
	for (unsigned i = 0; i < table_events(table, plan); i++)
		text_printf(out, " %*.*s", table_width(table, plan, i), table_width(table, plan, i),
			plan->events[i].name);
	if (table->commands)
		text_printf(out, " COMMAND");
}

const char *table_rate(char room[TABLE_RATE_ROOM], const char *event, double rate)
{
	char digits[DIGITS_ROOM];

	if (isnan(rate))
		return "<lost>";
	if (count_unit(event))
		snprintf(room, TABLE_RATE_ROOM, "%s %%", digits_decimal(digits, rate / 1e7, 1));
	else if (rate > TABLE_MAX)
		snprintf(room, TABLE_RATE_ROOM, "%s G", digits_decimal(digits, rate / 1e9, 3));
	else
		return digits_decimal(room, rate, 0);
	return room;
}

void table_row(struct text *out, const struct table *table, const struct plan *plan,
	const struct top_row *row)
{
	char room[TABLE_RATE_ROOM];

	text_printf(out, "%*d", TABLE_ID - 1, row->id);
	for (unsigned i = 0; i < table_events(table, plan); i++)
		text_printf(out, " %*s", table_width(table, plan, i),
			table_rate(room, plan->events[i].name, row->rates[i]));
	if (row->name[0])
		text_printf(out, " %s", row->name);
}
