// SPDX-License-Identifier: MIT
#include "tools/pfm/text/names.h"

#include "tools/pfm/text/utf8.h"

/* The length of the acceptable character at @s; 0: there is none. C1 controls are two bytes. XML
 * allows neither U+FFFE nor U+FFFF. */
static int name_character(const char *s)
{
	unsigned char first = (unsigned char)s[0];

	if (first < ' ' || first == 0x7f || (first == 0xc2 && (unsigned char)s[1] < 0xa0))
		return 0;
	if (first == 0xef && (unsigned char)s[1] == 0xbf && (unsigned char)s[2] >= 0xbe)
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
