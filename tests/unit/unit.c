// SPDX-License-Identifier: MIT
#include "tests/unit/unit.h"

#include <dirent.h>

#include "base/cleanup.h"

struct err why;
static struct CMUnitTest tests[128];
static int lines[COUNT(tests)];
static size_t ntests;

uint64_t random_bits(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

unsigned below(uint64_t *seed, unsigned n)
{
	return (unsigned)(random_bits(seed) % n);
}

unsigned open_files(void)
{
	CLEANUP_CLOSEDIR DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	return n;
}

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
