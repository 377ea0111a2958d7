// SPDX-License-Identifier: MIT
#include "tools/pfm/events/event_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int event_table_add(struct event_table *t, const struct event_row *row, struct err *e)
{
	if (t->n == t->room) {
		unsigned room = t->room ? 2 * t->room : 64;
		struct event_row *rows = realloc(t->rows, room * sizeof(*rows));

		if (!rows)
			return err_set(e, ENOMEM, "no memory for %u events", room);
		t->rows = rows;
		t->room = room;
	}
	t->rows[t->n++] = *row;
	return 0;
}

void event_table_free(struct event_table *t)
{
	free(t->rows);
	*t = (struct event_table){0};
}

static int event_fold(char c)
{
	return c == '.' ? ':' : tolower((unsigned char)c);
}

static bool event_starts(const char *text, struct slice part)
{
	size_t i = 0;

	while (i < part.n && text[i] && event_fold(text[i]) == event_fold(part.p[i]))
		i++;
	return i == part.n;
}

bool event_name_is(struct slice name, const char *other)
{
	return name.n == strlen(other) && event_starts(other, name);
}

bool event_name_has(const char *text, struct slice part)
{
	for (; *text; text++)
		if (event_starts(text, part))
			return true;
	return !part.n;
}

bool event_row_is_of(const struct event_row *r, struct slice source)
{
	struct slice aliases = slice_of(r->aliases), alias;
	bool is = source.n ? slice_is(source, r->source) : r->active;

	for (alias = slice_word(&aliases); source.n && alias.n; alias = slice_word(&aliases))
		is = is || (alias.n == source.n && memcmp(alias.p, source.p, alias.n) == 0);
	return is;
}

const struct event_row *event_table_find(
	const struct event_table *t, struct slice name, struct slice source)
{
	for (const struct event_row *r = t->rows; r < t->rows + t->n; r++)
		if (event_name_is(name, r->name) && event_row_is_of(r, source))
			return r;
	return NULL;
}
