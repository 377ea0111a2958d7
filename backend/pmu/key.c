// SPDX-License-Identifier: MIT
/* Parses keys with numbers, steps, words and lists. Callers have the rules of each line. */
#include "backend/pmu/key.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

static int key_parse_steps(struct slice value, struct key *k, struct err *e)
{
	struct slice rest = value;
	struct slice first = slice_cut(&rest, '+');
	int rc;

	if (first.n == value.n) {
		rest = value;
		first = slice_cut(&rest, '<');
		k->shifts = first.n != value.n;
		if (k->shifts && !slice_starts(rest, "<"))
			return err_set(e, EINVAL, "%s=%.*s: write N, N+STEP or N<<STEP", k->name,
				SLICE_ARG(value));
		slice_cut(&rest, '<');
	}
	rc = num_max(first, k->max, &k->value, e);
	if (rc == 0 && first.n != value.n)
		rc = num_max(rest, k->shifts ? 63 : UINT32_MAX, &k->step, e);
	return rc < 0 ? err_prefix(e, "%s=", k->name) : 0;
}

/* The allowed words, separated by commas. */
static const char *key_words(const struct key *k, struct text *out)
{
	for (unsigned i = 0; k->words[i]; i++)
		text_printf(out, "%s%s", i ? ", " : "", k->words[i]);
	return text_ok(out) ? out->p : "";
}

static int key_parse_word(struct slice value, struct key *k, struct err *e)
{
	TEXT_CLEANUP struct text all = {0};

	for (unsigned i = 0; k->words[i]; i++)
		if (slice_is(value, k->words[i])) {
			k->value = i;
			return 0;
		}
	return err_set(e, EINVAL, "%s=%.*s is not one of %s", k->name, SLICE_ARG(value),
		key_words(k, &all));
}

static int key_parse_value(struct slice value, struct key *k, struct err *e)
{
	k->text = value;
	switch (k->kind) {
	case KEY_NUMBER:
		return num_max(value, k->max, &k->value, e) < 0 ? err_prefix(e, "%s=", k->name) : 0;
	case KEY_STEPS:
		return key_parse_steps(value, k, e);
	case KEY_WORD:
		return key_parse_word(value, k, e);
	default:
		return 0;
	}
}

/* Explains that @word is none of the keys. */
static int key_refuse(struct slice word, const struct key *keys, unsigned n, struct err *e)
{
	TEXT_CLEANUP struct text all = {0};

	for (unsigned i = 0; i < n; i++)
		text_printf(&all, "%s%s%s", i ? ", " : "", keys[i].name,
			keys[i].kind == KEY_FLAG ? "" : "=");
	return err_set(e, EINVAL, "'%.*s' is not a key of this line: write one of %s",
		SLICE_ARG(word), text_ok(&all) ? all.p : "");
}

/* Explains that @k is required and missing. */
static int key_miss(const struct key *k, struct err *e)
{
	TEXT_CLEANUP struct text all = {0};

	if (k->kind == KEY_WORD)
		return err_set(e, EINVAL, "%s= is missing: write it with one of %s", k->name,
			key_words(k, &all));
	return err_set(e, EINVAL, "%s= is missing: write %s=N, a number", k->name, k->name);
}

static int key_parse(struct slice word, struct key *keys, unsigned n, struct err *e)
{
	struct slice value = word;
	struct slice name = slice_cut(&value, '=');
	struct key *k = NULL;

	for (unsigned i = 0; i < n; i++)
		if (slice_is(name, keys[i].name))
			k = &keys[i];
	if (!k)
		return key_refuse(word, keys, n, e);
	if (k->seen)
		return err_set(e, EINVAL, "%s is given twice: leave one out", k->name);
	k->seen = true;
	if (k->kind == KEY_FLAG && name.n != word.n)
		return err_set(e, EINVAL, "%s takes no value: write the word alone", k->name);
	return key_parse_value(value, k, e);
}

int key_parse_line(struct slice line, struct key *keys, unsigned n, struct err *e)
{
	for (struct slice word = slice_word(&line); word.n; word = slice_word(&line)) {
		int rc = key_parse(word, keys, n, e);

		if (rc < 0)
			return rc;
	}
	for (unsigned i = 0; i < n; i++)
		if (keys[i].required && !keys[i].seen)
			return key_miss(&keys[i], e);
	return 0;
}

int key_at(const struct key *k, unsigned i, uint64_t *value, struct err *e)
{
	uint64_t by = k->step * i;
	bool fits = k->shifts ? by < 64 && k->value << by >> by == k->value : by <= k->max;

	*value = !fits ? 0 : k->shifts ? k->value << by : k->value + by;
	if (!fits || *value > k->max || (!k->shifts && *value < by))
		return err_set(e, ERANGE,
			"%s=%.*s: register %u of the array exceeds %#llx: write less", k->name,
			SLICE_ARG(k->text), i, (unsigned long long)k->max);
	return 0;
}

int list_parse(const struct key *k, uint64_t *bits, unsigned words, struct err *e)
{
	struct slice list = k->text;

	if (!list.n)
		return err_set(e, EINVAL, "%s= is empty: write a list like 5 or 0-3,16", k->name);
	while (list.n) {
		uint64_t first, last;

		if (num_range(&list, 64 * words - 1, &first, &last, e) < 0)
			return err_prefix(e, "%s=", k->name);
		for (uint64_t n = first; n <= last; n++)
			bits[n / 64] |= 1ULL << n % 64;
	}
	return 0;
}

/* Does not check the characters: pmu_validate() does. */
int text_parse(
	struct slice s, const char *what, const char *form, char *to, size_t room, struct err *e)
{
	if (!s.n)
		return err_set(e, EINVAL, "the %s is missing: write '%s'", what, form);
	if (s.n >= room)
		return err_set(e, EINVAL, "the %s '%.*s' is longer than %zu characters: shorten it",
			what, SLICE_ARG(s), room - 1);
	memcpy(to, s.p, s.n);
	to[s.n] = '\0';
	return 0;
}
