// SPDX-License-Identifier: MIT
/*
 * Numbers, against a second reading of them: a number is what its canonical digits say. A list is
 * what its ranges say, spelled out once more.
 */
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>

#include "base/num.h"

/* Whether @s is @n written in one of the ways that are allowed. */
static bool spells(struct slice s, uint64_t n)
{
	char decimal[24], hex[24];
	struct slice digits = {s.p + 2, s.n - 2};

	snprintf(decimal, sizeof(decimal), "%" PRIu64, n);
	if (slice_is(s, decimal))
		return true;
	if (!slice_starts(s, "0x") && !slice_starts(s, "0X"))
		return false;
	while (digits.n > 1 && digits.p[0] == '0')
		digits.p++, digits.n--;
	snprintf(hex, sizeof(hex), "%" PRIx64, n);
	return digits.n == strlen(hex) && strncasecmp(digits.p, hex, digits.n) == 0;
}

static bool all_of(struct slice s, const char *chars)
{
	for (size_t i = 0; i < s.n; i++)
		if (!s.p[i] || !strchr(chars, s.p[i]))
			return false;
	return s.n;
}

/* Digits in the right form; whether they fit is another question. */
static bool well_formed(struct slice s)
{
	if (slice_starts(s, "0x") || slice_starts(s, "0X"))
		return all_of((struct slice){s.p + 2, s.n - 2}, "0123456789abcdefABCDEF");
	return all_of(s, "0123456789") && (s.n == 1 || s.p[0] != '0');
}

static void check_u64(struct slice s)
{
	struct err e;
	uint64_t n, again;
	int rc = num_u64(s, &n, &e);

	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		CHECK(well_formed(s) == (e.no == ERANGE));
		return;
	}
	CHECK(well_formed(s) && spells(s, n));
	CHECK(num_max(s, n, &again, &e) == 0 && again == n);
	if (n)
		CHECK(num_max(s, n - 1, &again, &e) == -ERANGE);
}

static void check_value(struct slice s)
{
	struct slice digits = {s.p + 1, s.n - 1};
	struct err e;
	uint64_t v, n;
	int rc = num_value(s, &v, &e);

	if (rc < 0)
		check_syntax_or_range(rc, &e);
	if (!slice_starts(s, "-")) {
		CHECK((rc == 0) == (num_u64(s, &n, &e) == 0));
		CHECK(rc < 0 || v == n);
		return;
	}
	CHECK((rc == 0) == (num_max(digits, 1ULL << 63, &n, &e) == 0));
	CHECK(rc < 0 || v + n == 0);
}

/* Every piece between commas is one range, whose ends are numbers. */
static void check_list(struct slice list)
{
	enum { MAX = 319 };
	size_t commas = 0, ranges = 0;
	uint64_t first, last, n;
	struct slice rest = list;
	struct err e;

	do {
		struct slice range = rest, from;
		int rc = num_range(&rest, MAX, &first, &last, &e);

		if (rc < 0) {
			check_syntax_or_range(rc, &e);
			return;
		}
		CHECK(first <= last && last <= MAX);
		range = slice_cut(&range, ',');
		from = slice_cut(&range, '-');
		CHECK(num_u64(from, &n, &e) == 0 && n == first);
		CHECK(range.n ? num_u64(range, &n, &e) == 0 && n == last : first == last);
		ranges++;
	} while (rest.n);
	for (size_t i = 0; i < list.n; i++)
		commas += list.p[i] == ',';
	CHECK(ranges == commas + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice input = slice_of_input(data, size);
	struct slice s = slice_cut(&input, '\n'); /* a sentence that quotes it is one line */

	check_u64(s);
	check_value(s);
	check_list(s);
	return 0;
}
