// SPDX-License-Identifier: MIT
#include "base/slice.h"

#include <string.h>

static bool slice_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Does nothing for 0 bytes: an empty slice may be at NULL, and NULL + 0 is undefined in C. */
static void slice_skip(struct slice *s, size_t n)
{
	if (n) {
		s->p += n;
		s->n -= n;
	}
}

struct slice slice_of(const char *str)
{
	return (struct slice){str, strlen(str)};
}

bool slice_is(struct slice s, const char *str)
{
	return s.n == strlen(str) && slice_starts(s, str);
}

bool slice_starts(struct slice s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && (!n || memcmp(s.p, prefix, n) == 0);
}

bool slice_is_digits(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

struct slice slice_trim(struct slice s)
{
	while (s.n && slice_is_blank(s.p[0]))
		s.p++, s.n--;
	while (s.n && slice_is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

struct slice slice_cut(struct slice *s, char sep)
{
	const char *at = s->n ? memchr(s->p, sep, s->n) : NULL;
	struct slice piece = {s->p, at ? (size_t)(at - s->p) : s->n};

	slice_skip(s, piece.n + (at ? 1 : 0));
	return piece;
}

struct slice slice_word(struct slice *s)
{
	struct slice word;

	*s = slice_trim(*s);
	word = (struct slice){s->p, 0};
	while (word.n < s->n && !slice_is_blank(s->p[word.n]))
		word.n++;
	slice_skip(s, word.n);
	return word;
}

bool slice_text(struct slice *s, bool lines)
{
	if (s->n && s->p[s->n - 1] == '\0')
		s->n--;
	if (s->n && s->p[s->n - 1] == '\n')
		s->n--;
	for (size_t i = 0; i < s->n; i++) {
		unsigned char c = (unsigned char)s->p[i];

		if (c == 127 || (c < ' ' && c != '\t' && !(lines && c == '\n')))
			return false;
	}
	return true;
}
