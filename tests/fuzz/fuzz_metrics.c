// SPDX-License-Identifier: MIT
/*
 * The names of a context's counts: what is accepted keeps the rules of Prometheus' names, and is
 * exported in lines that have nothing but the name, the description and the value.
 */
#include "tests/fuzz/fuzz.h"

#include "daemon/metrics/exposition.h"
#include "daemon/metrics/metric.h"

static const struct pmu pmu = {.npmds = 3, .pmds = {{.num = 0}, {.num = 1}, {.num = 16}}};

static void check_metric(const struct metric_list *list, unsigned i)
{
	const struct metric *m = &list->metric[i];

	CHECK(m->num == 0 || m->num == 1 || m->num == 16);
	CHECK(m->digits <= METRIC_DIGITS);
	CHECK(m->name[0] >= 'a' && m->name[0] <= 'z');
	CHECK(strspn(m->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(m->name));
	CHECK(strlen(m->name) < METRIC_NAME && strlen(m->help) < METRIC_HELP);
	CHECK(strncmp(m->name, "daemon_", 7) != 0 && strncmp(m->name, "count_", 6) != 0);
	for (const char *c = m->help; *c; c++)
		CHECK(*c >= ' ' && *c <= '~' && *c != '"');
	for (unsigned other = 0; other < i; other++)
		CHECK(strcmp(m->name, list->metric[other].name) != 0);
}

static unsigned lines_of(const struct text *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->p[i] == '\n';
	return n;
}

static void check_printed(const struct metric_list *list, enum exposition_form form)
{
	TEXT_CLEANUP struct text out = {0};
	struct exposition x = {.form = form, .out = &out, .time = 1};

	for (unsigned i = 0; i < list->n; i++) {
		const struct metric *m = &list->metric[i];
		const struct exposition_label label = {"context", m->help};

		exposition_family(&x, m->name, EXPOSITION_COUNTER, m->help);
		exposition_sample(&x, &label, 1, UINT64_MAX, m->digits);
	}
	CHECK(text_ok(&out));
	CHECK(lines_of(&out) == list->n * (form == EXPOSITION_PROM ? 3 : 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = slice_of_input(data, size);
	struct metric_list list;
	struct err e;
	int rc;

	if (!slice_text(&text, true))
		return 0;
	rc = metrics_parse(text, &pmu, &list, &e);
	if (rc < 0) {
		check_refusal(rc, &e);
		CHECK(e.no == EINVAL || e.no == ERANGE || e.no == ENOENT);
		CHECK(strncmp(e.text, "line ", 5) == 0);
		return 0;
	}
	CHECK(list.n <= METRICS_MAX);
	for (unsigned i = 0; i < list.n; i++)
		check_metric(&list, i);
	check_printed(&list, EXPOSITION_PROM);
	check_printed(&list, EXPOSITION_LP);
	return 0;
}
