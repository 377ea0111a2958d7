// SPDX-License-Identifier: MIT
#include "tools/pfm/text/json.h"

#include "tools/pfm/text/utf8.h"

void json_string(struct text *t, const char *s)
{
	if (!s) {
		text_printf(t, "null");
		return;
	}
	text_printf(t, "\"");
	while (*s) {
		int n = utf8_sequence(s);

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
