// SPDX-License-Identifier: MIT
/* Words that stand for flags, and lists that stand for registers. */
#include "daemon/command/command_i.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"

static void print_words(const struct flag_word *words, unsigned flags, struct text *out)
{
	const char *sep = "";

	for (const struct flag_word *w = words; w->name; w++) {
		if (!(flags & w->flag))
			continue;
		text_printf(out, "%s%s", sep, w->name);
		sep = " ";
	}
}

static int refuse_word(struct slice word, const struct flag_word *words, struct err *e)
{
	TEXT_CLEANUP struct text known = {0};

	print_words(words, ~0u, &known);
	if (!text_ok(&known))
		return err_set(e, ENOMEM, "no memory");
	return err_set(e, EINVAL, "no flag '%.*s': write words of '%s', or 'none'", SLICE_ARG(word),
		known.p);
}

static int parse_word(
	struct slice word, const struct flag_word *words, unsigned *flags, struct err *e)
{
	const struct flag_word *w = words;

	while (w->name && !slice_is(word, w->name))
		w++;
	if (!w->name)
		return refuse_word(word, words, e);
	if (w->refusal)
		return err_set(e, EINVAL, "%s: %s", w->name, w->refusal);
	*flags |= w->flag;
	return 0;
}

int flags_parse(struct slice text, const struct flag_word *words, unsigned *flags, struct err *e)
{
	struct slice word = slice_word(&text);

	*flags = 0;
	if (!word.n)
		return err_set(e, EINVAL, "no flags given: write 'none' to clear them");
	if (slice_is(word, "none")) {
		if (slice_word(&text).n)
			return err_set(e, EINVAL, "'none' stands alone: leave it or the rest out");
		return 0;
	}
	for (; word.n; word = slice_word(&text))
		if (parse_word(word, words, flags, e) < 0)
			return -e->no;
	return 0;
}

void flags_print(const struct flag_word *words, unsigned flags, struct text *out)
{
	print_words(words, flags, out);
	text_printf(out, "%s\n", flags ? "" : "none");
}

int regset_parse(struct slice list, struct regset *set, struct err *e)
{
	*set = (struct regset){0};
	do {
		uint64_t first, last;
		int rc = num_range(&list, PMU_MAX_NUM - 1, &first, &last, e);

		if (rc < 0)
			return rc;
		for (uint64_t n = first; n <= last; n++)
			regset_add(set, (unsigned)n);
	} while (list.n);
	return 0;
}

bool regset_empty(const struct regset *set)
{
	static const struct regset none;

	return memcmp(set, &none, sizeof(none)) == 0;
}

/* The first number from @n on that is (or is not) in @set, or PMU_MAX_NUM. */
static unsigned next_in(const struct regset *set, unsigned n, bool in)
{
	while (n < PMU_MAX_NUM && regset_has(set, n) != in)
		n++;
	return n;
}

void regset_print(const struct regset *set, struct text *out)
{
	unsigned first = next_in(set, 0, true), end;
	const char *sep = "";

	if (first == PMU_MAX_NUM)
		text_printf(out, "none");
	for (; first < PMU_MAX_NUM; first = next_in(set, end, true)) {
		end = next_in(set, first, false);
		text_printf(out, "%s%u", sep, first);
		if (end - first > 1)
			text_printf(out, "-%u", end - 1);
		sep = ",";
	}
}
