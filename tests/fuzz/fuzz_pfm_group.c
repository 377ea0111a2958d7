// SPDX-License-Identifier: MIT
/*
 * Group files and formulas: what is accepted is in range, and each formula has a finite value or
 * none, whatever the counts are.
 */
#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "tools/pfm/events/group.h"

static void check_metric(const struct group_metric *m, unsigned nevents)
{
	double values[EVENT_MAX];
	double v;

	CHECK(m->name[0] && strlen(m->name) < sizeof(m->name));
	CHECK(m->formula.n && m->formula.n <= FORMULA_STEPS);
	for (unsigned i = 0; i < nevents; i++)
		values[i] = i % 3 ? 0 : 1.8e19;
	v = formula_eval(&m->formula, values, 0);
	CHECK(isfinite(v) || isnan(v));
	for (unsigned i = 0; i < nevents; i++)
		values[i] = NAN;
	v = formula_eval(&m->formula, values, NAN);
	CHECK(isfinite(v) || isnan(v));
}

static void check_group(const struct group *g)
{
	CHECK(g->name[0] && g->nevents <= EVENT_MAX && g->nmetrics <= GROUP_METRICS);
	for (unsigned i = 0; i < g->nevents; i++)
		CHECK(g->events[i].label[0] && g->events[i].text[0]);
	for (unsigned i = 0; i < g->nmetrics; i++)
		check_metric(&g->metrics[i], g->nevents);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct group_list list = {0};
	struct err e;
	int rc = group_parse(slice_of_input(data, size), "file", &list, &e);

	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		CHECK(strncmp(e.text, "file:", 5) == 0);
	}
	for (unsigned i = 0; i < list.n; i++)
		check_group(&list.groups[i]);
	group_free(&list);
	return 0;
}
