// SPDX-License-Identifier: MIT
#include "tools/pfm/text/wrap.h"

#include <string.h>

/* The length of the part of @s that fits: up to a blank, or if there is none, all that fits. */
static size_t wrap_length(const char *s, size_t most)
{
	size_t n = strlen(s);

	if (n <= most)
		return n;
	for (n = most; n && s[n] != ' '; n--)
		;
	return n ? n : most;
}

void wrap_text(struct text *t, const char *sentence, unsigned indent, unsigned columns)
{
	unsigned blanks = 0;

	do {
		size_t n = wrap_length(sentence, columns - indent);

		text_printf(t, "%*s%.*s\n", (int)blanks, "", (int)n, sentence);
		sentence += n;
		sentence += strspn(sentence, " ");
		blanks = indent;
	} while (*sentence);
}
