// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool text_reserve(struct text *t, size_t more)
{
	size_t room = t->room ? t->room : 64;
	char *p;

	while (room < t->n + more + 1)
		room *= 2;
	if (room == t->room)
		return true;
	p = realloc(t->p, room);
	if (!p) {
		t->failed = true;
		return false;
	}
	t->p = p;
	t->room = room;
	return true;
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	size_t room;
	int n;

	/* Print into the allocated memory, and again if that was too small. */
	if (!text_reserve(t, 0))
		return;
	room = t->room - t->n;
	va_start(ap, fmt);
	n = vsnprintf(t->p + t->n, room, fmt, ap);
	va_end(ap);
	if (n < 0) {
		t->failed = true;
		return;
	}
	if ((size_t)n >= room) {
		if (!text_reserve(t, (size_t)n))
			return;
		va_start(ap, fmt);
		vsnprintf(t->p + t->n, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	t->n += (size_t)n;
}

void text_append(struct text *t, const char *p, size_t n)
{
	if (!text_reserve(t, n))
		return;
	memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = '\0';
}

void text_clear(struct text *t)
{
	t->n = 0;
	t->failed = false;
}

void text_free(struct text *t)
{
	free(t->p);
	*t = (struct text){0};
}

bool text_ok(const struct text *t)
{
	return !t->failed;
}
