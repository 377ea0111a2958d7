// SPDX-License-Identifier: MIT
#include "tools/pfm/text/names.h"

#include "tools/pfm/text/utf8.h"

/* Whether the three bytes at @s are a character that is not seen, or changes the direction of text:
 * U+200B to U+200F, U+202A to U+202E, U+2066 to U+2069. Names that look alike may differ by it. */
static bool name_is_unseen(const char *s)
{
	const unsigned char *b = (const unsigned char *)s;

	return b[0] == 0xe2 && ((b[1] == 0x80 && ((b[2] >= 0x8b && b[2] <= 0x8f) ||
							 (b[2] >= 0xaa && b[2] <= 0xae))) ||
				       (b[1] == 0x81 && b[2] >= 0xa6 && b[2] <= 0xa9));
}

/* The length of the acceptable character at @s; 0: there is none. C1 controls are two bytes. XML
 * allows neither U+FFFE nor U+FFFF. */
static int name_character(const char *s)
{
	unsigned char first = (unsigned char)s[0];

	if (first < ' ' || first == 0x7f || (first == 0xc2 && (unsigned char)s[1] < 0xa0))
		return 0;
	if (first == 0xef && (unsigned char)s[1] == 0xbf && (unsigned char)s[2] >= 0xbe)
		return 0;
	if (name_is_unseen(s))
		return 0;
	return utf8_sequence(s);
}

bool name_is_clean(const char *s)
{
	while (*s) {
		int n = name_character(s);

		if (!n)
			return false;
		s += n;
	}
	return true;
}

void name_clean(char *s)
{
	while (*s) {
		int n = name_character(s);

		if (!n)
			*s = '?';
		s += n ? n : 1;
	}
}
