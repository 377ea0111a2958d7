// SPDX-License-Identifier: MIT
/* Flags as words. */
#include "daemon/command/command_i.h"

#include <errno.h>

static void flag_words_print(const struct flag_word *words, unsigned flags, struct text *out)
{
	const char *sep = "";

	for (const struct flag_word *w = words; w->name; w++) {
		if (!(flags & w->flag))
			continue;
		text_printf(out, "%s%s", sep, w->name);
		sep = " ";
	}
}

static int flag_words_refuse(struct slice word, const struct flag_word *words, struct err *e)
{
	TEXT_CLEANUP struct text known = {0};

	flag_words_print(words, ~0u, &known);
	if (!text_ok(&known))
		return err_set(e, ENOMEM, "no memory");
	return err_set(e, EINVAL, "there is no flag '%.*s': write words from '%s', or 'none'",
		SLICE_ARG(word), known.p);
}

static int flag_words_parse_one(
	struct slice word, const struct flag_word *words, unsigned *flags, struct err *e)
{
	const struct flag_word *w = words;

	while (w->name && !slice_is(word, w->name))
		w++;
	if (!w->name)
		return flag_words_refuse(word, words, e);
	*flags |= w->flag;
	return 0;
}

int flag_words_parse(
	struct slice text, const struct flag_word *words, unsigned *flags, struct err *e)
{
	struct slice word = slice_word(&text);

	*flags = 0;
	if (!word.n)
		return err_set(e, EINVAL, "no flags given: write 'none' to clear them");
	if (slice_is(word, "none")) {
		if (slice_word(&text).n)
			return err_set(e, EINVAL,
				"'none' does not go with other flags: leave out 'none' or the "
				"others");
		return 0;
	}
	for (; word.n; word = slice_word(&text))
		if (flag_words_parse_one(word, words, flags, e) < 0)
			return -e->no;
	return 0;
}

void flag_words_print_line(const struct flag_word *words, unsigned flags, struct text *out)
{
	flag_words_print(words, flags, out);
	text_printf(out, "%s\n", flags ? "" : "none");
}
