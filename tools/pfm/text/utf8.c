// SPDX-License-Identifier: MIT
#include "tools/pfm/text/utf8.h"

/*
 * The smallest code point of a sequence, by its length; longer sequences than needed are invalid.
 */
static const unsigned utf8_least[] = {0, 0, 0x80, 0x800, 0x10000};

static int utf8_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

int utf8_sequence(const char *s)
{
	int n = utf8_length((unsigned char)*s);
	unsigned code = n > 1 ? (unsigned char)*s & (0xffU >> (n + 1)) : 0;

	for (int i = 1; i < n; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((unsigned char)s[i] & 0x3fU);
	}
	if (n > 1 && (code < utf8_least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))
		return 0;
	return n;
}

size_t utf8_cut(const char *s, size_t room)
{
	while (room && ((unsigned char)s[room] & 0xc0) == 0x80)
		room--;
	return room;
}
