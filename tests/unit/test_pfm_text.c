// SPDX-License-Identifier: MIT
/* Numbers and strings as pfm prints them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/pfm/text/digits.h"
#include "tools/pfm/text/json.h"

static void grouped(void **state)
{
	char room[DIGITS_ROOM];

	(void)state;
	assert_string_equal(digits_grouped(room, 0), "0");
	assert_string_equal(digits_grouped(room, 999), "999");
	assert_string_equal(digits_grouped(room, 1000), "1,000");
	assert_string_equal(digits_grouped(room, 1234567), "1,234,567");
	assert_string_equal(digits_grouped(room, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void decimals(void **state)
{
	char room[DIGITS_ROOM];

	(void)state;
	assert_string_equal(digits_decimal(room, 1234.5678, 2), "1,234.57");
	assert_string_equal(digits_decimal(room, -1234567.0, 0), "-1,234,567");
	assert_string_equal(digits_decimal(room, -0.001, 2), "0.00");
	assert_string_equal(
		digits_decimal(room, -9.2e18, 9), "-9,200,000,000,000,000,000.000000000");
	assert_string_equal(digits_decimal(room, NAN, 2), "-");
	assert_string_equal(digits_decimal(room, HUGE_VAL, 2), "-");
	assert_string_equal(digits_decimal(room, 0x1p63, 2), "-");
}

static void json_is(const char *s, const char *expected)
{
	struct text t TEXT_CLEANUP = {0};

	json_string(&t, s);
	assert_true(text_ok(&t));
	assert_string_equal(t.p, expected);
}

static void strings(void **state)
{
	(void)state;
	json_is(NULL, "null");
	json_is("", "\"\"");
	json_is("a \"b\" \\ c", "\"a \\\"b\\\" \\\\ c\"");
	json_is("\t\n\x7f", "\"\\u0009\\u000a\\u007f\"");
	json_is("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

static void invalid_utf8(void **state)
{
	(void)state;
	json_is("\xc3", "\"\\ufffd\"");
	json_is("\xc3\x28", "\"\\ufffd(\"");
	json_is("\xc0\x80", "\"\\ufffd\\ufffd\"");
	json_is("\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	json_is("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	json_is("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	json_is("\xff", "\"\\ufffd\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grouped),
		cmocka_unit_test(decimals),
		cmocka_unit_test(strings),
		cmocka_unit_test(invalid_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
