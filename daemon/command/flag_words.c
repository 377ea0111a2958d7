// SPDX-License-Identifier: MIT
/* Words that stand for flags, and lists of numbers. */
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

int list_parse(struct slice list, uint64_t *bits, unsigned limit, struct err *e)
{
	do {
		uint64_t first, last;
		int rc = num_range(&list, limit - 1, &first, &last, e);

		if (rc < 0)
			return rc;
		for (uint64_t n = first; n <= last; n++)
			bits[n / 64] |= 1ULL << n % 64;
	} while (list.n);
	return 0;
}

/* The first number from @n on that is (or is not) in it, or @limit. */
static unsigned next_in(const uint64_t *bits, unsigned limit, unsigned n, bool in)
{
	while (n < limit && (bits[n / 64] >> n % 64 & 1) != in)
		n++;
	return n;
}

void list_print(const uint64_t *bits, unsigned limit, struct text *out)
{
	unsigned first = next_in(bits, limit, 0, true), end;
	const char *sep = "";

	if (first == limit)
		text_printf(out, "none");
	for (; first < limit; first = next_in(bits, limit, end, true)) {
		end = next_in(bits, limit, first, false);
		text_printf(out, "%s%u", sep, first);
		if (end - first > 1)
			text_printf(out, "-%u", end - 1);
		sep = ",";
	}
}

int regset_parse(struct slice list, struct regset *set, struct err *e)
{
	*set = (struct regset){0};
	return list_parse(list, set->bits, PMU_MAX_NUM, e);
}

bool regset_empty(const struct regset *set)
{
	static const struct regset none;

	return memcmp(set, &none, sizeof(none)) == 0;
}

void regset_print(const struct regset *set, struct text *out)
{
	list_print(set->bits, PMU_MAX_NUM, out);
}
