// SPDX-License-Identifier: MIT
/* The base library: numbers, slices, text that grows, errors. */
#include <sys/stat.h>

#include "base/err.h"
#include "base/num.h"
#include "base/slice.h"
#include "base/text.h"
#include "base/trusted.h"
#include "tests/unit/unit.h"

static void assert_slice(struct slice s, const char *want)
{
	if (!slice_is(s, want))
		fail_msg("'%.*s' is not '%s'", SLICE_ARG(s), want);
}

static const struct number_case {
	const char *text;
	int no;
	uint64_t v;
} numbers[] = {
	{"0", 0, 0},
	{"7", 0, 7},
	{"20000", 0, 20000},
	{"18446744073709551615", 0, UINT64_MAX},
	{"0x0", 0, 0},
	{"0x00ff", 0, 255},
	{"0xfF", 0, 255},
	{"0X1a", 0, 26},
	{"0xffffffffffffffff", 0, UINT64_MAX},
	{"0x00000000000000001", 0, 1},
	{"18446744073709551616", ERANGE},
	{"99999999999999999999", ERANGE},
	{"0x10000000000000000", ERANGE},
	{"18446744073709551616x", EINVAL},
	{"", EINVAL},
	{"00", EINVAL},
	{"010", EINVAL},
	{"0b1", EINVAL},
	{"0x", EINVAL},
	{"0xg", EINVAL},
	{"x1", EINVAL},
	{"ff", EINVAL},
	{"+1", EINVAL},
	{"-1", EINVAL},
	{" 1", EINVAL},
	{"1 ", EINVAL},
	{"1.0", EINVAL},
	{"1e3", EINVAL},
	{"1k", EINVAL},
	{"/", EINVAL},
	{":", EINVAL},
};

static void check_number(
	const char *text, int rc, uint64_t v, const struct err *e, int no, uint64_t want)
{
	if (rc != -no)
		fail_msg("'%s': %s instead of %s", text, rc ? err_name(-rc) : "0",
			no ? err_name(no) : "0");
	if (no == 0) {
		assert_int_equal(v, want);
		return;
	}
	assert_int_equal(e->no, no);
	assert_non_null(strstr(e->text, text));
}

TEST(num_u64)
{
	for (unsigned i = 0; i < COUNT(numbers); i++) {
		const struct number_case *c = &numbers[i];
		uint64_t v = 4711;
		int rc = num_u64(slice_of(c->text), &v, &why);

		check_number(c->text, rc, v, &why, c->no, c->v);
		if (rc < 0)
			assert_int_equal(v, 4711);
	}
}

TEST(num_reads_no_further)
{
	struct slice s = {"123456", 3};
	uint64_t v;

	assert_int_equal(num_u64(s, &v, &why), 0);
	assert_int_equal(v, 123);
	s.n = 0;
	assert_int_equal(num_u64(s, &v, &why), -EINVAL);
	s = (struct slice){"0x12", 2};
	assert_int_equal(num_u64(s, &v, &why), -EINVAL);
}

TEST(num_max)
{
	static const struct {
		const char *text;
		uint64_t max;
		int no;
	} cases[] = {
		{"0", 0, 0},
		{"1", 0, ERANGE},
		{"65535", 65535, 0},
		{"65536", 65535, ERANGE},
		{"0x10000", 65535, ERANGE},
		{"18446744073709551615", UINT64_MAX, 0},
		{"18446744073709551616", UINT64_MAX, ERANGE},
		{"x", 65535, EINVAL},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct err e = {0};
		uint64_t v = 4711;
		int rc = num_max(slice_of(cases[i].text), cases[i].max, &v, &e);

		check_number(cases[i].text, rc, v, &e, cases[i].no, cases[i].no ? 0 : v);
		if (rc < 0)
			assert_int_equal(v, 4711);
		else
			assert_true(v <= cases[i].max);
	}
}

TEST(num_within)
{
	uint64_t v = 0;

	assert_int_equal(num_within(slice_of("10"), 10, 20, &v, &why), 0);
	assert_int_equal(v, 10);
	assert_int_equal(num_within(slice_of("20"), 10, 20, &v, &why), 0);
	assert_int_equal(v, 20);
	assert_int_equal(num_within(slice_of("9"), 10, 20, &v, &why), -ERANGE);
	assert_int_equal(num_within(slice_of("21"), 10, 20, &v, &why), -ERANGE);
	assert_int_equal(num_within(slice_of("x"), 10, 20, &v, &why), -EINVAL);
	assert_int_equal(v, 20);
}

TEST(num_max_names_the_limit)
{
	uint64_t v;

	assert_int_equal(num_max(slice_of("320"), 319, &v, &why), -ERANGE);
	assert_non_null(strstr(why.text, "319"));
}

TEST(num_value)
{
	static const struct number_case cases[] = {
		{"0", 0, 0},
		{"-0", 0, 0},
		{"-1", 0, UINT64_MAX},
		{"-100000", 0, (uint64_t)-100000},
		{"-0x10", 0, (uint64_t)-16},
		{"-9223372036854775808", 0, 1ULL << 63},
		{"18446744073709551615", 0, UINT64_MAX},
		{"-9223372036854775809", ERANGE},
		{"-18446744073709551616", ERANGE},
		{"18446744073709551616", ERANGE},
		{"-", EINVAL},
		{"--1", EINVAL},
		{"-010", EINVAL},
		{"- 1", EINVAL},
		{"+1", EINVAL},
		{"", EINVAL},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		uint64_t v = 4711;
		int rc = num_value(slice_of(cases[i].text), &v, &why);

		check_number(cases[i].text, rc, v, &why, cases[i].no, cases[i].v);
	}
}

TEST(num_value_of_numbers)
{
	for (unsigned i = 0; i < COUNT(numbers); i++) {
		const struct number_case *c = &numbers[i];
		uint64_t v = 4711;
		int rc;

		if (c->text[0] == '-')
			continue;
		rc = num_value(slice_of(c->text), &v, &why);
		check_number(c->text, rc, v, &why, c->no, c->v);
	}
}

TEST(slice_compare)
{
	struct slice s = {"loaded", 4}, none = {NULL, 0};

	assert_true(slice_is(s, "load"));
	assert_false(slice_is(s, "loaded"));
	assert_false(slice_is(s, "loa"));
	assert_false(slice_is(s, "lord"));
	assert_true(slice_starts(s, ""));
	assert_true(slice_starts(s, "lo"));
	assert_true(slice_starts(s, "load"));
	assert_false(slice_starts(s, "loade"));
	assert_false(slice_starts(s, "oad"));
	assert_true(slice_is(none, ""));
	assert_true(slice_starts(none, ""));
	assert_false(slice_is(none, "x"));
	assert_false(slice_starts(none, "x"));
}

TEST(slice_trim)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", ""},
		{" ", ""},
		{" \t \t", ""},
		{"a", "a"},
		{"\ta b ", "a b"},
		{"a\n", "a\n"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++)
		assert_slice(slice_trim(slice_of(cases[i].text)), cases[i].want);
}

TEST(slice_cut)
{
	struct slice s = slice_of("a,,bc,"), none = {NULL, 0};

	assert_slice(slice_cut(&s, ','), "a");
	assert_slice(s, ",bc,");
	assert_slice(slice_cut(&s, ','), "");
	assert_slice(slice_cut(&s, ','), "bc");
	assert_int_equal(s.n, 0);
	assert_slice(slice_cut(&s, ','), "");
	s = slice_of("key=value=more");
	assert_slice(slice_cut(&s, '='), "key");
	assert_slice(s, "value=more");
	assert_slice(slice_cut(&s, ';'), "value=more");
	assert_int_equal(s.n, 0);
	assert_int_equal(slice_cut(&none, ',').n, 0);
}

TEST(slice_word)
{
	struct slice s = slice_of(" load\t cpu=1  "), none = {NULL, 0};

	assert_slice(slice_word(&s), "load");
	assert_slice(slice_word(&s), "cpu=1");
	assert_slice(slice_word(&s), "");
	assert_slice(slice_word(&s), "");
	assert_int_equal(slice_word(&none).n, 0);
}

TEST(slice_text)
{
	static const struct {
		const char *p;
		size_t n;
		bool lines, ok;
		size_t left;
	} cases[] = {
		{"", 0, false, true, 0},
		{"stop", 4, false, true, 4},
		{"stop\n", 5, false, true, 4},
		{"stop\0", 5, false, true, 4},
		{"stop\n\0", 6, false, true, 4},
		{"a\tb", 3, false, true, 3},
		{"\xc3\xa4", 2, false, true, 2},
		{"stop\n\n", 6, false, false, 0},
		{"stop\n\n", 6, true, true, 5},
		{"stop\0\n", 6, false, false, 0},
		{"stop\0\0", 6, false, false, 0},
		{"a\nb", 3, false, false, 0},
		{"a\nb", 3, true, true, 3},
		{"a\nb\n", 4, true, true, 3},
		{"a\0b", 3, true, false, 0},
		{"stop\r\n", 6, false, false, 0},
		{"stop\r\n", 6, true, false, 0},
		{"\x1b[1m", 4, true, false, 0},
		{"\x7f", 1, true, false, 0},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct slice s = {cases[i].p, cases[i].n};
		bool ok = slice_text(&s, cases[i].lines);

		if (ok != cases[i].ok || (ok && s.n != cases[i].left))
			fail_msg("case %u ('%s'): %d, %zu left", i, cases[i].p, ok, s.n);
	}
}

TEST(slice_arg_is_bounded)
{
	char many[100];
	struct slice s = {many, sizeof(many)};

	memset(many, 'x', sizeof(many));
	err_set(&why, EINVAL, "%.*s", SLICE_ARG(s));
	assert_int_equal(strlen(why.text), 40);
}

TEST(text)
{
	TEXT_CLEANUP struct text t = {0};
	const char *memory;

	assert_true(text_ok(&t));
	text_printf(&t, "%s", "");
	assert_string_equal(t.p, "");
	for (unsigned i = 0; i < 1000; i++) {
		text_printf(&t, "%u,", i % 10);
		assert_int_equal(t.n, 2 * (i + 1));
		assert_int_equal(strlen(t.p), t.n);
		assert_true(t.room > t.n);
	}
	assert_memory_equal(t.p, "0,1,2,3,", 8);
	assert_string_equal(t.p + t.n - 4, "8,9,");
	memory = t.p;
	text_clear(&t);
	assert_int_equal(t.n, 0);
	text_printf(&t, "%s", "again");
	assert_ptr_equal(t.p, memory);
	assert_string_equal(t.p, "again");
	assert_true(text_ok(&t));
	text_free(&t);
	assert_null(t.p);
	assert_int_equal(t.n + t.room, 0);
}

/* Sizes around those at which it grows. */
TEST(text_room)
{
	for (int n = 60; n < 70; n++) {
		TEXT_CLEANUP struct text t = {0};

		text_printf(&t, "%*s", n, "");
		assert_int_equal(t.n, n);
		assert_int_equal(t.p[n], '\0');
		text_printf(&t, "%*s", n, "");
		assert_int_equal(strlen(t.p), 2 * n);
	}
}

TEST(err_set)
{
	assert_int_equal(err_set(&why, EBUSY, "CPU %u is taken", 3u), -EBUSY);
	assert_int_equal(why.no, EBUSY);
	assert_string_equal(why.text, "CPU 3 is taken");
	assert_int_equal(err_prefix(&why, "line %d", 7), -EBUSY);
	assert_int_equal(why.no, EBUSY);
	assert_string_equal(why.text, "line 7: CPU 3 is taken");
}

TEST(err_is_cut)
{
	err_set(&why, EINVAL, "%*s", 1000, "x");
	assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
	err_set(&why, EINVAL, "%*s", 240, "x");
	err_prefix(&why, "%s", "a prefix");
	assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
	assert_memory_equal(why.text, "a prefix:   ", 12);
	err_prefix(&why, "%*s", 1000, "y");
	assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
	assert_int_equal(why.no, EINVAL);
}

/* As a user may write them, for a terminal that shows the sentence. */
TEST(err_is_printable)
{
	err_set(&why, EINVAL, "%s ~", "a\n\033[2J\t\x7f\xc2\x9b");
	assert_string_equal(why.text, "a??[2J???? ~");
	err_prefix(&why, "%s", "b\r\xff");
	assert_string_equal(why.text, "b??: a??[2J???? ~");
}

TEST(err_name)
{
	static const struct {
		int no;
		const char *name;
	} cases[] = {{EPERM, "EPERM"}, {ENOENT, "ENOENT"}, {EBUSY, "EBUSY"}, {EINVAL, "EINVAL"},
		{ERANGE, "ERANGE"}, {EOPNOTSUPP, "EOPNOTSUPP"}, {EAGAIN, "EAGAIN"}};

	for (unsigned i = 0; i < COUNT(cases); i++)
		assert_string_equal(err_name(cases[i].no), cases[i].name);
	assert_string_equal(err_name(-1), "unknown error");
	assert_string_equal(err_name(100000), "unknown error");
}

TEST(trusted)
{
	static const struct {
		mode_t mode;
		bool trusted;
	} modes[] = {{0600, true}, {0644, true}, {0755, true}, {0620, false}, {0602, false}};
	const uid_t self = geteuid(), other = self + 1;

	for (size_t i = 0; i < COUNT(modes); i++) {
		const struct stat st = {.st_uid = self, .st_mode = S_IFREG | modes[i].mode};

		assert_int_equal(trusted_is(&st, TRUSTED_SELF), modes[i].trusted);
	}
	struct stat st = {.st_uid = other, .st_mode = S_IFREG | 0600};
	assert_false(trusted_is(&st, TRUSTED_ROOT | TRUSTED_SELF));
	assert_int_equal(trusted_check(&st, TRUSTED_SELF, "/a/file", "it counts", &why), -EPERM);
	assert_non_null(strstr(why.text, "/a/file: it counts"));
	st.st_uid = self;
	assert_int_equal(trusted_is(&st, TRUSTED_ROOT), self == 0);
	assert_int_equal(trusted_check(&st, TRUSTED_SELF, "/a/file", "it counts", &why), 0);
	st.st_uid = 0;
	assert_true(trusted_is(&st, TRUSTED_ROOT));
	assert_int_equal(trusted_is(&st, TRUSTED_SELF), self == 0);
}
