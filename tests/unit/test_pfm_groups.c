// SPDX-License-Identifier: MIT
/* Formulas and group files. */
// cmocka.h needs these first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/pfm_pmus.h"
#include "tools/pfm/events/group.h"

/* Values a, b-c and z. */
static const double values[] = {12, 4, 0};

static int find(const void *arg, struct slice name)
{
	(void)arg;
	return slice_is(name, "a") ? 0 : slice_is(name, "b-c") ? 1 : slice_is(name, "z") ? 2 : -1;
}

static double evaluated(const char *text)
{
	struct formula f;
	struct err e = {0};

	if (formula_parse(slice_of(text), find, NULL, &f, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return formula_eval(&f, values, 2);
}

static void evaluates(const char *text, double wanted)
{
	double v = evaluated(text);

	if (fabs(v - wanted) > 1e-12)
		fail_msg("%s is %g, not %g", text, v, wanted);
}

static void test_formulas(void **state)
{
	(void)state;
	evaluates("a", 12);
	evaluates("a - b-c", 8);
	evaluates("a -b-c", 8);
	evaluates("a + b-c * 2", 20);
	evaluates("(a + b-c) * 2", 32);
	evaluates("a / b-c / 3", 1);
	evaluates("a - 1 - 1", 10);
	evaluates("1.5*a", 18);
	evaluates("0.001 * 1000", 1);
	evaluates("a/seconds", 6);
	evaluates("  ( ( 7 ) )  ", 7);
	evaluates("z / a", 0);
	evaluates("18446744073709551615", 18446744073709551615.0);
}

/* No number, which is shown as "-". */
static void test_no_value(void **state)
{
	static const double lost[] = {NAN, 4, 0};
	struct formula f;
	struct err e;

	(void)state;
	assert_true(isnan(evaluated("a / z")));
	assert_true(isnan(evaluated("z / z")));
	assert_true(isnan(evaluated("1 - a / z")));
	assert_int_equal(formula_parse(slice_of("a * 0"), find, NULL, &f, &e), 0);
	assert_true(isnan(formula_eval(&f, lost, 1)));
	assert_int_equal(formula_parse(slice_of("b-c / seconds"), find, NULL, &f, &e), 0);
	assert_true(isnan(formula_eval(&f, lost, 0)));
	assert_true(isnan(formula_eval(&f, lost, NAN)));
}

static void test_formulas_refused(void **state)
{
	static const char *const wrong[] = {"", "a +", "+ a", "- a", "(a", "a)", "a a", "q", "a-z",
		"2x", "1.2.3", "a ^ 2", "()", "1e6", "a * / z", ".5"};
	struct formula f;
	struct err e;
	char deep[100];

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (formula_parse(slice_of(wrong[i]), find, NULL, &f, &e) != -EINVAL)
			fail_msg("%s is accepted", wrong[i]);
	memset(deep, '(', sizeof(deep));
	assert_int_equal(
		formula_parse((struct slice){deep, sizeof(deep)}, find, NULL, &f, &e), -EINVAL);
	for (unsigned i = 0; i < sizeof(deep); i++)
		deep[i] = i % 2 ? '+' : 'a';
	assert_int_equal(
		formula_parse((struct slice){deep, sizeof(deep) - 1}, find, NULL, &f, &e), -EINVAL);
}

static int parse(struct group_list *list, const char *text, struct err *e)
{
	return group_parse(slice_of(text), "f.group", list, e);
}

static void refused(const char *text, const char *noun)
{
	struct group_list list = {0};
	struct err e = {0};

	assert_int_equal(parse(&list, text, &e), -EINVAL);
	if (!strstr(e.text, noun))
		fail_msg("%s lacks %s", e.text, noun);
	group_free(&list);
}

static void test_group_file(void **state)
{
	struct group_list list = {0};
	struct err e = {0};
	const struct group *g;

	(void)state;
	if (parse(&list,
		    "# comment\ngroup one  the first \nevent instructions\nevent slow = r01c0:u\n"
		    "metric IPC [1/cycle] = instructions / slow ; what it is # comment\n"
		    "metric rate = slow / seconds\n\ngroup two\n",
		    &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(list.n, 2);
	g = &list.groups[0];
	assert_string_equal(g->name, "one");
	assert_string_equal(g->desc, "the first");
	assert_int_equal(g->nevents, 2);
	assert_string_equal(g->events[0].text, "instructions");
	assert_string_equal(g->events[1].label, "slow");
	assert_string_equal(g->events[1].text, "r01c0:u");
	assert_int_equal(g->nmetrics, 2);
	assert_string_equal(g->metrics[0].unit, "1/cycle");
	assert_string_equal(g->metrics[0].desc, "what it is");
	assert_string_equal(g->metrics[0].text, "instructions / slow");
	assert_string_equal(g->metrics[1].unit, "");
	assert_int_equal(list.groups[1].nevents, 0);
	group_free(&list);
}

static void test_group_file_refused(void **state)
{
	(void)state;
	refused("event a\n", "f.group:1");
	refused("group\n", "f.group:1");
	refused("group g\nevent\n", "f.group:2");
	refused("group g\nevent a =\n", "f.group:2");
	refused("group g\nevent a\nevent a = b\n", "taken");
	refused("group g\nevent seconds\n", "taken");
	refused("group g\nmetric m\n", "formula");
	refused("group g\nmetric m [] = 1\n", "UNIT");
	refused("group g\nmetric m x = 1\n", "UNIT");
	refused("group g\nevent a\nmetric m = b\n", "'b'");
	refused("group g\nmertic m = 1\n", "mertic");
}

static void test_group_find(void **state)
{
	static const struct pfm_cpu no_cpu = {PFM_ENCODING_NONE, -1, -1, false};
	struct pfm_pmu_text text =
		pfm_pmus_text("intel_arch_v4", "sim", pfm_pmus_intel_pmcs, pfm_pmus_intel_pmds);
	struct pfm_event events[EVENT_MAX];
	struct group_list list = {0};
	const struct group *g;
	struct pfm_pmu pmu;
	struct err e = {0};

	(void)state;
	assert_int_equal(pfm_pmu_parse(&text, &no_cpu, &pmu, &e), 0);
	assert_int_equal(parse(&list,
				 "group caches\nevent nothing-like-that\ngroup caches\nevent "
				 "cycles\ngroup only\nevent nothing-like-that\n",
				 &e),
		0);
	/* The first one whose events the PMU has */
	assert_int_equal(group_find(&list, &pmu, "caches", &g, events, &e), 0);
	assert_ptr_equal(g, &list.groups[1]);
	assert_int_equal(e.no, 0);
	assert_int_equal(events[0].code, 0x3c);
	assert_int_equal(group_find(&list, &pmu, "only", &g, events, &e), -ENOENT);
	assert_non_null(strstr(e.text, "nothing-like-that"));
	assert_int_equal(group_find(&list, &pmu, "cashes", &g, events, &e), -ENOENT);
	assert_non_null(strstr(e.text, "is it caches?"));
	group_free(&list);
	pfm_pmu_free(&pmu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formulas),
		cmocka_unit_test(test_no_value),
		cmocka_unit_test(test_formulas_refused),
		cmocka_unit_test(test_group_file),
		cmocka_unit_test(test_group_file_refused),
		cmocka_unit_test(test_group_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
