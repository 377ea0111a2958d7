// SPDX-License-Identifier: MIT
#include "tests/unit/unit.h"

struct err why;
static struct CMUnitTest tests[128];
static int lines[COUNT(tests)];
static size_t ntests;

/* Constructors run in no order that could be relied on. */
void unit_add(const struct CMUnitTest *test, int line)
{
	size_t at = ntests++;

	if (ntests > COUNT(tests))
		abort();
	for (; at > 0 && lines[at - 1] > line; at--) {
		tests[at] = tests[at - 1];
		lines[at] = lines[at - 1];
	}
	tests[at] = *test;
	lines[at] = line;
}

int unit_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	return _cmocka_run_group_tests("tests", tests, ntests, setup, teardown);
}
