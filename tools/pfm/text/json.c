// SPDX-License-Identifier: MIT
#include "tools/pfm/text/json.h"

#include <string.h>

/* The code points that a sequence of each length may begin with, by its length; shorter forms are
 * invalid. */
static const unsigned json_least[] = {0, 0, 0x80, 0x800, 0x10000};

static int json_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* The length of the valid UTF-8 sequence at @s, which ends with a NUL; 0 if there is none. */
static int json_sequence(const char *s)
{
	int n = json_length((unsigned char)*s);
	unsigned code = n > 1 ? (unsigned char)*s & (0xffU >> (n + 1)) : 0;

	for (int i = 1; i < n; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((unsigned char)s[i] & 0x3fU);
	}
	if (n > 1 && (code < json_least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))
		return 0;
	return n;
}

void json_string(struct text *t, const char *s)
{
	if (!s) {
		text_printf(t, "null");
		return;
	}
	text_printf(t, "\"");
	while (*s) {
		int n = json_sequence(s);

		if (n == 0)
			text_printf(t, "\\ufffd");
		else if (*s == '"' || *s == '\\')
			text_printf(t, "\\%c", *s);
		else if ((unsigned char)*s < 0x20 || *s == 0x7f)
			text_printf(t, "\\u%04x", (unsigned)*s);
		else
			text_printf(t, "%.*s", n, s);
		s += n ? n : 1;
	}
	text_printf(t, "\"");
}
