/* SPDX-License-Identifier: MIT */
/*
 * What every unit test includes, and how it says what its tests are. There is no list of them: a
 * test that is written is run.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The last error of the test that runs, for the calls that say one: none when it begins. */
extern struct err why;

/* Begins the function test_NAME. What @setup stores in *@state is there for it and for @teardown.
 */
#define TEST_WITH(setup, teardown, name)                                                           \
	static void body_##name(void **state);                                                     \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		why = (struct err){0};                                                             \
		body_##name(state);                                                                \
	}                                                                                          \
	__attribute__((constructor)) static void add_test_##name(void)                             \
	{                                                                                          \
		unit_add(&(struct CMUnitTest)cmocka_unit_test_setup_teardown(                      \
				 test_##name, setup, teardown),                                    \
			__LINE__);                                                                 \
	}                                                                                          \
	static void body_##name(void **state __attribute__((unused)))
#define TEST(name) TEST_WITH(NULL, NULL, name)

/* The same with *@state as a parameter, which @parameter declares. */
#define TEST_OF(setup, teardown, name, parameter)                                                  \
	static void of_##name(parameter);                                                          \
	TEST_WITH(setup, teardown, name)                                                           \
	{                                                                                          \
		of_##name(*state);                                                                 \
	}                                                                                          \
	static void of_##name(parameter)

/* Random numbers, the same everywhere (splitmix64); below() gives one that is less than @n. */
uint64_t random_bits(uint64_t *seed);
unsigned below(uint64_t *seed, unsigned n);

/* How many files the process has open. */
unsigned open_files(void);

/* Before main(): adds the test that begins in line @line. */
void unit_add(const struct CMUnitTest *test, int line);

/* Runs the tests in the order of their lines: main() does just that, unless the file has its own.
 */
int unit_run(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
