// SPDX-License-Identifier: MIT
/* Numbers and strings as pfm prints them. */
#include <math.h>

#include "tests/unit/unit.h"
#include "tools/pfm/text/digits.h"
#include "tools/pfm/text/duration.h"
#include "tools/pfm/text/json.h"
#include "tools/pfm/text/mann_whitney.h"
#include "tools/pfm/text/summary.h"
#include "tools/pfm/text/wrap.h"

TEST(grouped)
{
	char room[DIGITS_ROOM];

	assert_string_equal(digits_grouped(room, 0), "0");
	assert_string_equal(digits_grouped(room, 999), "999");
	assert_string_equal(digits_grouped(room, 1000), "1,000");
	assert_string_equal(digits_grouped(room, 1234567), "1,234,567");
	assert_string_equal(digits_grouped(room, UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(decimals)
{
	char room[DIGITS_ROOM];

	assert_string_equal(digits_decimal(room, 1234.5678, 2), "1,234.57");
	assert_string_equal(digits_decimal(room, -1234567.0, 0), "-1,234,567");
	assert_string_equal(digits_decimal(room, -0.001, 2), "0.00");
	assert_string_equal(
		digits_decimal(room, -9.2e18, 9), "-9,200,000,000,000,000,000.000000000");
	assert_string_equal(digits_decimal(room, NAN, 2), "-");
	assert_string_equal(digits_decimal(room, HUGE_VAL, 2), "-");
	assert_string_equal(digits_decimal(room, 0x1p63, 2), "-");
}

static void duration_is(const char *text, uint64_t unit, uint64_t expected)
{
	uint64_t ns = 0;

	assert_int_equal(duration_parse(slice_of(text), unit, &ns), expected != 0);
	assert_int_equal(ns, expected);
}

TEST(durations)
{
	duration_is("500ms", 0, 500000000);
	duration_is("1.5s", 0, 1500000000);
	duration_is("2m", 0, 120000000000);
	duration_is("24000h", 0, 86400000000000000);
	duration_is("500", 1000000, 500000000);
	duration_is("2s", 1000000, 2000000000);
	duration_is("2", 0, 0);
	duration_is("", 1000000, 0);
	duration_is("s", 1, 0);
	duration_is(".", 1000000, 0);
	duration_is("1.2.3s", 0, 0);
	duration_is("-1s", 0, 0);
	duration_is("1e3s", 0, 0);
	duration_is("1 s", 0, 0);
	duration_is("0.9ms", 0, 0);
	duration_is("0s", 0, 0);
	duration_is("1d", 0, 0);
	duration_is("24001h", 0, 0);
	duration_is("99999999999999999999999999h", 0, 0);
}

static void json_is(const char *s, const char *expected)
{
	struct text t TEXT_CLEANUP = {0};

	json_string(&t, s);
	assert_true(text_ok(&t));
	assert_string_equal(t.p, expected);
}

TEST(strings)
{
	json_is(NULL, "null");
	json_is("", "\"\"");
	json_is("a \"b\" \\ c", "\"a \\\"b\\\" \\\\ c\"");
	json_is("\t\n\x7f", "\"\\u0009\\u000a\\u007f\"");
	json_is("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST(invalid_utf8)
{
	json_is("\xc3", "\"\\ufffd\"");
	json_is("\xc3\x28", "\"\\ufffd(\"");
	json_is("\xc0\x80", "\"\\ufffd\\ufffd\"");
	json_is("\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	json_is("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	json_is("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	json_is("\xff", "\"\\ufffd\"");
}

TEST(summary)
{
	double one[] = {7}, even[] = {4, 1, 3, 2};
	double far[] = {10, 11, 9, 10, 12, 1000, 10, 9, 11, 12}, few[] = {52, 54, 52};
	double most[] = {52, 52, 52, 54, 52, 54, 52, 52, 52, 54};
	struct summary s;

	summary_of(&s, one, 1);
	assert_true(s.mean == 7 && s.median == 7 && s.deviation == 0 && s.outliers == 0);
	summary_of(&s, even, 4);
	assert_true(s.mean == 2.5 && s.median == 2.5 && s.min == 1 && s.max == 4);
	assert_true(s.deviation > 1.2909 && s.deviation < 1.2911 && s.outliers == 0);
	summary_of(&s, far, 10);
	assert_true(s.median == 10.5 && s.outliers == 1);
	/* Too few to tell, and what comes often, though most are equal */
	summary_of(&s, few, 3);
	assert_true(s.mean > 52.66 && s.mean < 52.67 && s.outliers == 0);
	summary_of(&s, most, 10);
	assert_true(s.median == 52 && s.outliers == 0);
}

/* The deviations are merged from both sides of the median: sorting them gives the same. */
static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

TEST(outliers)
{
	srand(1);
	for (unsigned round = 0; round < 1000; round++) {
		double values[16], far[16], limit, sum = 0;
		unsigned n = 1 + round % 16, outside = 0;
		struct summary s;

		for (unsigned i = 0; i < n; i++)
			values[i] = rand() % 20;
		summary_of(&s, values, n);
		for (unsigned i = 0; i < n; i++)
			sum += far[i] = fabs(values[i] - s.median);
		qsort(far, n, sizeof(*far), ascending);
		limit = 3 * 1.4826 * (n % 2 ? far[n / 2] : (far[n / 2 - 1] + far[n / 2]) / 2);
		if (limit == 0)
			limit = 3 * 1.2533 * sum / n;
		for (unsigned i = 0; i < n && n >= SUMMARY_OUTLIERS; i++)
			outside += far[i] > limit;
		assert_int_equal(s.outliers, outside);
	}
}

/* Twice the sum of the ranks of those values whose bit is set. */
static unsigned rank_sum(const double *values, unsigned n, unsigned chosen)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < n; j++)
			if (chosen >> i & 1)
				sum += 2 * (values[j] < values[i]) + (values[j] == values[i]) +
				       (i == j);
	return sum;
}

/* The definition: of all ways to deal the values out, how many are as uneven. */
static double brute_force_p(const double *values, unsigned na, unsigned n)
{
	int mean = (int)(na * (n + 1)), far = abs((int)rank_sum(values, n, (1U << na) - 1) - mean);
	unsigned all = 0, as_far = 0;

	for (unsigned chosen = 0; chosen < 1U << n; chosen++) {
		if ((unsigned)__builtin_popcount(chosen) != na)
			continue;
		all++;
		as_far += abs((int)rank_sum(values, n, chosen) - mean) >= far;
	}
	return (double)as_far / all;
}

TEST(exact_p)
{
	srand(1);
	for (unsigned round = 0; round < 200; round++) {
		unsigned na = 1 + round % 5, nb = 1 + round / 5 % 4;
		double values[9], expected, p;

		/* Few different ones: many are equal. */
		for (unsigned i = 0; i < na + nb; i++)
			values[i] = rand() % 4;
		expected = brute_force_p(values, na, na + nb);
		p = mann_whitney_p(values, na, values + na, nb);
		assert_true(fabs(p - expected) < 1e-12);
	}
}

/* One value more makes the difference between the exact test and its approximation. */
TEST(approximate_p)
{
	double a[21], b[20], same[50] = {0};
	double exact, approximate;

	for (unsigned i = 0; i < 20; i++) {
		a[i] = i;
		b[i] = i + 5;
	}
	a[20] = 12;
	exact = mann_whitney_p(a, 20, b, 20);
	approximate = mann_whitney_p(a, 21, b, 20);
	assert_true(exact > 0.001 && exact < 0.05);
	assert_true(approximate > exact / 2 && approximate < 2 * exact);
	assert_true(mann_whitney_p(same, 25, same + 25, 25) == 1);
	for (unsigned i = 0; i < 25; i++)
		same[i] = 1;
	assert_true(mann_whitney_p(same, 25, same + 25, 25) < 1e-9);
}

static void wrapped_is(const char *sentence, const char *expected)
{
	struct text t TEXT_CLEANUP = {0};

	wrap_text(&t, sentence, 2, 10);
	assert_true(text_ok(&t));
	assert_string_equal(t.p, expected);
}

TEST(wrapped)
{
	wrapped_is("", "\n");
	wrapped_is("one two", "one two\n");
	wrapped_is("one two three", "one two\n  three\n");
	wrapped_is("12345678 9", "12345678\n  9\n");
	wrapped_is("1234567890", "12345678\n  90\n");
}
