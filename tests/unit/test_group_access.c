// SPDX-License-Identifier: MIT
/* The rights that groups give, for each rule and each kind of requester. */
#include "daemon/authz/group_access.h"
#include "tests/unit/unit.h"

enum { USER = 1000, PRIMARY = 100, SUPPLEMENTARY = 200, OTHER = 300 };

static const struct group_answers answers = {2, {SUPPLEMENTARY, OTHER}, {true, false}};
static const struct group_requester root = {.uid = 0, .gid = OTHER};
static const struct group_requester user = {.uid = USER, .gid = PRIMARY, .groups = &answers};

TEST(rules)
{
	static const struct {
		struct group_rule rule;
		bool asked, unasked;
	} cases[] = {
		{{.kind = GROUP_ANY}, true, true},
		{{.kind = GROUP_NONE}, false, false},
		{{.kind = GROUP_GID, .gid = PRIMARY}, true, true},
		{{.kind = GROUP_GID, .gid = SUPPLEMENTARY}, true, false},
		{{.kind = GROUP_GID, .gid = OTHER}, false, false},
		{{.kind = GROUP_GID, .gid = OTHER + 1}, false, false},
	};
	const struct group_requester unasked = {.uid = USER, .gid = PRIMARY};

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_true(group_access_allowed(&cases[i].rule, &root));
		assert_int_equal(group_access_allowed(&cases[i].rule, &user), cases[i].asked);
		assert_int_equal(group_access_allowed(&cases[i].rule, &unasked), cases[i].unasked);
	}
}

/* Only what a rule names and nothing else decides is asked for. */
TEST(open)
{
	static const struct {
		struct group_rule sys, thread;
		enum allow_kernel kernel;
		unsigned need;
		struct group_answers want;
	} cases[] = {
		{{GROUP_GID, OTHER}, {GROUP_ANY, 0}, KERNEL_GROUP, 0, {0}},
		{{GROUP_GID, OTHER}, {GROUP_ANY, 0}, KERNEL_GROUP, NEED_MAKE, {0}},
		{{GROUP_GID, OTHER}, {GROUP_ANY, 0}, KERNEL_GROUP, NEED_THREAD, {0}},
		{{GROUP_GID, OTHER}, {GROUP_ANY, 0}, KERNEL_GROUP, NEED_SYSTEM, {1, {OTHER}}},
		{{GROUP_GID, OTHER}, {GROUP_ANY, 0}, KERNEL_GROUP, NEED_KERNEL, {1, {OTHER}}},
		{{GROUP_GID, OTHER}, {GROUP_ANY, 0}, KERNEL_ROOT, NEED_KERNEL, {0}},
		{{GROUP_GID, OTHER}, {GROUP_ANY, 0}, KERNEL_ANY, NEED_KERNEL, {0}},
		{{GROUP_GID, PRIMARY}, {GROUP_NONE, 0}, KERNEL_GROUP, NEED_SYSTEM | NEED_KERNEL,
			{0}},
		{{GROUP_GID, PRIMARY}, {GROUP_GID, OTHER}, KERNEL_GROUP, NEED_MAKE, {0}},
		{{GROUP_NONE, 0}, {GROUP_NONE, 0}, KERNEL_GROUP, NEED_MAKE | NEED_KERNEL, {0}},
		{{GROUP_GID, OTHER}, {GROUP_GID, OTHER}, KERNEL_GROUP, NEED_MAKE, {1, {OTHER}}},
		{{GROUP_GID, OTHER}, {GROUP_GID, SUPPLEMENTARY}, KERNEL_GROUP, NEED_MAKE,
			{2, {OTHER, SUPPLEMENTARY}}},
		{{GROUP_NONE, 0}, {GROUP_GID, OTHER}, KERNEL_GROUP, NEED_THREAD | NEED_KERNEL,
			{1, {OTHER}}},
	};
	const struct group_requester unasked = {.uid = USER, .gid = PRIMARY};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct config c = {.sys_group = cases[i].sys,
			.thread_group = cases[i].thread,
			.allow_kernel = cases[i].kernel};
		struct group_answers got = group_access_open(&c, cases[i].need, &unasked);

		assert_memory_equal(&got, &cases[i].want, sizeof(got));
		assert_int_equal(group_access_open(&c, cases[i].need, &root).n, 0);
	}
}

TEST(rights)
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

	for (size_t i = 0; i < COUNT(cases); i++) {
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
TEST(making)
{
	for (int groups = 0; groups < 4; groups++) {
		const struct rights r = {.system = groups & 1, .thread = groups & 2};

		assert_int_equal(group_access_check(&r, &why), groups ? 0 : -EPERM);
	}
}
