// SPDX-License-Identifier: MIT
#include "tools/pfm/events/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { ABBREVIATION = 4 };

static unsigned nearest_min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool nearest_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The number of characters to insert, remove, replace, or swap with the next one, ignoring case. */
static unsigned nearest_distance(struct slice a, const char *b, size_t nb)
{
	unsigned rows[3][EVENT_NAME];
	unsigned *older = rows[0], *old = rows[1], *row = rows[2];

	for (unsigned j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 0; i < a.n; i++) {
		unsigned *reused = older;

		older = old;
		old = row;
		row = reused;
		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < nb; j++) {
			unsigned replaced = old[j] + !nearest_same(a.p[i], b[j]);

			row[j + 1] = nearest_min(replaced, 1 + nearest_min(row[j], old[j + 1]));
			if (i && j && nearest_same(a.p[i - 1], b[j]) &&
				nearest_same(a.p[i], b[j - 1]))
				row[j + 1] = nearest_min(row[j + 1], older[j - 1] + 1);
		}
	}
	return row[nb];
}

static size_t nearest_common(struct slice name, const char *candidate)
{
	size_t i = 0;

	while (i < name.n &&
		tolower((unsigned char)name.p[i]) == tolower((unsigned char)candidate[i]))
		i++;
	return i;
}

/*
 * Measures how far apart two names are; false: too far. A name that contains the other is nearer
 * than one with as many changes elsewhere. A name with the same beginning may be an abbreviation.
 */
static bool nearest_measure(struct slice name, const char *candidate, unsigned *distance)
{
	size_t n = strlen(candidate), longer = name.n > n ? name.n : n;

	if (!name.n || name.n >= EVENT_NAME || n >= EVENT_NAME)
		return false;
	if (name.n >= 3 && event_name_has(candidate, name)) {
		*distance = 1 + (unsigned)(n - name.n) / 8;
		return true;
	}
	*distance = nearest_distance(name, candidate, n);
	return *distance <= longer / 3 || nearest_common(name, candidate) >= ABBREVIATION;
}

void nearest_offer(struct nearest *near, struct slice name, const char *candidate)
{
	unsigned distance, at;

	if (!nearest_measure(name, candidate, &distance))
		return;
	for (at = 0; at < near->n && near->distance[at] <= distance; at++)
		if (strcmp(near->names[at], candidate) == 0)
			return;
	if (at == NEAREST_MAX)
		return;
	if (near->n < NEAREST_MAX)
		near->n++;
	for (unsigned i = near->n - 1; i > at; i--) {
		memcpy(near->names[i], near->names[i - 1], EVENT_NAME);
		near->distance[i] = near->distance[i - 1];
	}
	snprintf(near->names[at], EVENT_NAME, "%s", candidate);
	near->distance[at] = distance;
}

const char *nearest_text(const struct nearest *near, char room[NEAREST_ROOM])
{
	size_t n = 0;

	room[0] = '\0';
	for (unsigned i = 0; i < near->n; i++) {
		const char *before = !i ? "" : i + 1 == near->n ? " or " : ", ";

		n += (size_t)snprintf(room + n, NEAREST_ROOM - n, "%s%s", before, near->names[i]);
	}
	return room;
}
