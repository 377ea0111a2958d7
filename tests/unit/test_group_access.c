// SPDX-License-Identifier: MIT
/* The rights that groups give, for each rule and each kind of requester. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "daemon/authz/group_access.h"

enum { USER = 1000, PRIMARY = 100, SUPPLEMENTARY = 200, OTHER = 300 };

static unsigned lookups;

static bool has_group(const struct group_requester *r, gid_t gid)
{
	(void)r;
	lookups++;
	return gid == SUPPLEMENTARY;
}

static const struct group_requester root = {.uid = 0, .gid = OTHER, .has_group = has_group};
static const struct group_requester user = {.uid = USER, .gid = PRIMARY, .has_group = has_group};

static void test_rules(void **state)
{
	static const struct {
		struct group_rule rule;
		bool user;
		unsigned lookups;
	} cases[] = {
		{{.kind = GROUP_ANY}, true, 0},
		{{.kind = GROUP_NONE}, false, 0},
		{{.kind = GROUP_GID, .gid = PRIMARY}, true, 0},
		{{.kind = GROUP_GID, .gid = SUPPLEMENTARY}, true, 1},
		{{.kind = GROUP_GID, .gid = OTHER}, false, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lookups = 0;
		assert_true(group_access_allowed(&cases[i].rule, &root));
		assert_int_equal(lookups, 0);
		assert_int_equal(group_access_allowed(&cases[i].rule, &user), cases[i].user);
		assert_int_equal(lookups, cases[i].lookups);
	}
}

static void test_rights(void **state)
{
	static const struct {
		enum allow_kernel allow;
		bool in_group, user, root;
	} cases[] = {
		{KERNEL_ANY, false, true, true},
		{KERNEL_ANY, true, true, true},
		{KERNEL_GROUP, false, false, true},
		{KERNEL_GROUP, true, true, true},
		{KERNEL_ROOT, false, false, true},
		{KERNEL_ROOT, true, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct config c = {
			.sys_group = {GROUP_GID, cases[i].in_group ? PRIMARY : OTHER},
			.thread_group = {GROUP_NONE, 0},
			.allow_kernel = cases[i].allow,
		};
		struct rights r = group_access_rights(&c, &user);

		assert_int_equal(r.system, cases[i].in_group);
		assert_false(r.thread);
		assert_int_equal(r.kernel, cases[i].user);
		r = group_access_rights(&c, &root);
		assert_true(r.system && r.thread);
		assert_int_equal(r.kernel, cases[i].root);
	}
}

/* One of the two groups is enough to make contexts. */
static void test_making(void **state)
{
	(void)state;
	for (int groups = 0; groups < 4; groups++) {
		const struct config c = {
			.sys_group = {GROUP_GID, groups & 1 ? PRIMARY : OTHER},
			.thread_group = {GROUP_GID, groups & 2 ? SUPPLEMENTARY : OTHER},
		};
		struct err e;

		assert_int_equal(group_access_check(&c, &user, &e), groups ? 0 : -EPERM);
		assert_int_equal(group_access_check(&c, &root, &e), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_making),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
