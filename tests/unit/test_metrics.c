// SPDX-License-Identifier: MIT
/* The names of counts, and the two forms in which counts are exported. */
#include "daemon/metrics/exposition.h"
#include "daemon/metrics/metric.h"
#include "tests/unit/unit.h"

static const struct pmu pmu = {.npmds = 2, .pmds = {{.num = 0}, {.num = 17}}};

TEST(lines)
{
	static const struct {
		const char *text;
		struct metric metric;
	} cases[] = {
		{"pmd0 a", {0, 0, 0, "a", ""}},
		{"pmd17 a_9 \"x y\"", {0, 17, 0, "a_9", "x y"}},
		{" set=65535\tpmd0  busy_seconds/1000000000  \"\" ",
			{65535, 0, 9, "busy_seconds", ""}},
		{"set=0x10 pmd0x11 a/1 \"\\\"", {16, 17, 0, "a", "\\"}},
		{"pmd0 a/10", {0, 0, 1, "a", ""}},
		{"pmd0 counts", {0, 0, 0, "counts", ""}},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		const struct metric *want = &cases[i].metric;
		struct metric_list list;

		if (metrics_parse(slice_of(cases[i].text), &pmu, &list, &why) < 0)
			fail_msg("'%s': %s", cases[i].text, why.text);
		assert_int_equal(list.n, 1);
		assert_false(list.threads);
		assert_int_equal(list.metric[0].set, want->set);
		assert_int_equal(list.metric[0].num, want->num);
		assert_int_equal(list.metric[0].digits, want->digits);
		assert_string_equal(list.metric[0].name, want->name);
		assert_string_equal(list.metric[0].help, want->help);
	}
}

TEST(several_lines)
{
	struct metric_list list;

	assert_int_equal(metrics_parse(slice_of(""), &pmu, &list, &why), 0);
	assert_int_equal(list.n, 0);
	assert_int_equal(metrics_parse(slice_of("threads\npmd0 a\npmd0 b"), &pmu, &list, &why), 0);
	assert_int_equal(list.n, 2);
	assert_true(list.threads);
	assert_int_equal(metrics_parse(slice_of("pmd0 a\n\npmd0 b"), &pmu, &list, &why), -EINVAL);
	assert_true(strncmp(why.text, "line 2: ", 8) == 0);
}

TEST(refused)
{
	static const struct {
		const char *text;
		int no;
		const char *word;
	} cases[] = {
		{"pmd99 x", ENOENT, "pmd99"},
		{"pmd256 x", ENOENT, "pmd256"},
		{"pmc0 x", EINVAL, "pmc0"},
		{"pmd0", EINVAL, "name"},
		{"pmd0 Instructions", EINVAL, "name"},
		{"pmd0 a-b", EINVAL, "name"},
		{"pmd0 9a", EINVAL, "name"},
		{"pmd0 a_total", EINVAL, "_total"},
		{"pmd0 daemon_requests", EINVAL, "daemon"},
		{"pmd0 count_lost", EINVAL, "count"},
		{"pmd0 machine", EINVAL, "machine"},
		{"pmd0 a words", EINVAL, "quotes"},
		{"pmd0 a \"", EINVAL, "quotes"},
		{"pmd0 a \"b\"c\"", EINVAL, "quote"},
		{"pmd0 a \"\303\244\"", EINVAL, "ASCII"},
		{"pmd0 a/7", EINVAL, "divisor"},
		{"pmd0 a/0", EINVAL, "divisor"},
		{"pmd0 a/10000000000", EINVAL, "divisor"},
		{"set=65536 pmd0 a", ERANGE, "set"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct metric_list list;

		assert_int_equal(
			metrics_parse(slice_of(cases[i].text), &pmu, &list, &why), -cases[i].no);
		assert_non_null(strstr(why.text, cases[i].word));
	}
}

TEST(limits)
{
	char name[METRIC_NAME + 1], line[METRIC_NAME + METRIC_HELP + 20];
	struct metric_list *list = calloc(1, sizeof(*list));
	TEXT_CLEANUP struct text text = {0};

	memset(name, 'a', sizeof(name));
	name[METRIC_NAME - 1] = '\0';
	snprintf(line, sizeof(line), "pmd0 %s \"%*s\"", name, METRIC_HELP - 1, "");
	assert_int_equal(metrics_parse(slice_of(line), &pmu, list, &why), 0);
	snprintf(line, sizeof(line), "pmd0 %s \"%*s\"", name, METRIC_HELP, "");
	assert_int_equal(metrics_parse(slice_of(line), &pmu, list, &why), -EINVAL);
	snprintf(line, sizeof(line), "pmd0 %sa", name);
	assert_int_equal(metrics_parse(slice_of(line), &pmu, list, &why), -EINVAL);
	for (unsigned i = 0; i < METRICS_MAX; i++)
		text_printf(&text, "pmd0 n%u\n", i);
	assert_int_equal(metrics_parse((struct slice){text.p, text.n}, &pmu, list, &why), 0);
	assert_int_equal(list->n, METRICS_MAX);
	text_printf(&text, "pmd0 m\n");
	assert_int_equal(metrics_parse((struct slice){text.p, text.n}, &pmu, list, &why), -EINVAL);
	free(list);
}

TEST(escapes)
{
	static const struct exposition_label labels[] = {
		{"a", "x\"y\\z\nw"}, {"b", NULL}, {"c", "1,2 3=4"}, {"d", ""}};
	TEXT_CLEANUP struct text prom = {0}, lp = {0};
	struct exposition p = {.form = EXPOSITION_PROM, .out = &prom};
	struct exposition l = {.form = EXPOSITION_LP, .out = &lp, .time = 5};

	exposition_family(&p, "n", EXPOSITION_COUNTER, "a \"b\" \\ c\nd");
	exposition_sample(&p, labels, COUNT(labels), UINT64_MAX, 0);
	exposition_family(&p, "g", EXPOSITION_GAUGE, "h");
	exposition_sample(&p, NULL, 0, 0, 3);
	assert_string_equal(prom.p, "# HELP perfmonfs_n_total a \"b\" \\\\ c\\nd\n"
				    "# TYPE perfmonfs_n_total counter\n"
				    "perfmonfs_n_total{a=\"x\\\"y\\\\z\\nw\",c=\"1,2 3=4\",d=\"\"} "
				    "18446744073709551615\n"
				    "# HELP perfmonfs_g h\n"
				    "# TYPE perfmonfs_g gauge\n"
				    "perfmonfs_g 0.000\n");
	exposition_family(&l, "n", EXPOSITION_COUNTER, "h");
	exposition_sample(&l, labels, COUNT(labels), UINT64_MAX, 0);
	exposition_sample(&l, NULL, 0, 1500, 3);
	assert_string_equal(lp.p,
		"perfmonfs_n_total,a=x\"y\\\\z\\ w,c=1\\,2\\ 3\\=4 value=18446744073709551615u 5\n"
		"perfmonfs_n_total value=1.500 5\n");
}

/* The decimal form is exact: without its point, it is the count again. */
TEST(quotients)
{
	uint64_t n = 88172645463325252ULL;

	for (unsigned i = 0; i < 10000; i++) {
		TEXT_CLEANUP struct text out = {0};
		struct exposition x = {.form = EXPOSITION_PROM, .out = &out};
		unsigned digits = i % (METRIC_DIGITS + 1), after = 0;
		uint64_t value, again = 0;
		const char *p;

		n ^= n << 13;
		n ^= n >> 7;
		n ^= n << 17;
		value = n >> n % 64;
		exposition_family(&x, "n", EXPOSITION_GAUGE, "h");
		text_clear(&out);
		exposition_sample(&x, NULL, 0, value, digits);
		p = strchr(out.p, ' ') + 1;
		for (const char *c = p; *c != '\n'; c++) {
			if (*c != '.')
				again = again * 10 + (uint64_t)(*c - '0');
			after += strchr(p, '.') && c > strchr(p, '.');
		}
		assert_int_equal(again, value);
		assert_int_equal(after, digits);
	}
}
