// SPDX-License-Identifier: MIT
/*
 * The configuration file: if it is refused, nothing changes; if it is accepted, values are in
 * range, and each key can be shown and stored again.
 */
#include "tests/fuzz/fuzz.h"

#include "daemon/config/config.h"

static const char *const keys[] = {"sys_group", "thread_group", "allow_kernel", "arg_size_max",
	"tick_us", "overflow_rate_max"};

enum { NKEYS = sizeof(keys) / sizeof(keys[0]) };

static const struct config before = {
	.sys_group = {.kind = GROUP_GID, .gid = 54321},
	.thread_group = {.kind = GROUP_NONE},
	.allow_kernel = KERNEL_ROOT,
	.arg_size_max = 12345,
	.tick_us = 234,
	.overflow_rate_max = 567,
};

static bool same_group(const struct group_rule *a, const struct group_rule *b)
{
	return a->kind == b->kind && (a->kind != GROUP_GID || a->gid == b->gid);
}

static bool same(const struct config *a, const struct config *b)
{
	return same_group(&a->sys_group, &b->sys_group) &&
	       same_group(&a->thread_group, &b->thread_group) &&
	       a->allow_kernel == b->allow_kernel && a->arg_size_max == b->arg_size_max &&
	       a->tick_us == b->tick_us && a->overflow_rate_max == b->overflow_rate_max &&
	       strcmp(a->backend, b->backend) == 0;
}

static void show_all(const struct config *c, struct text *out)
{
	for (unsigned i = 0; i < NKEYS; i++) {
		text_printf(out, "%s = ", keys[i]);
		config_show(c, keys[i], out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TEXT_CLEANUP struct text shown = {0};
	struct config c = before, again = before;
	struct err e;
	int rc = config_parse(&c, slice_of_input(data, size), &e);

	if (rc < 0) {
		check_refusal(rc, &e);
		CHECK(e.no == EINVAL || e.no == ERANGE || e.no == ENOENT);
		CHECK(strncmp(e.text, "line ", 5) == 0);
		CHECK(same(&c, &before));
		return 0;
	}
	CHECK(strlen(c.backend) < sizeof(c.backend));
	CHECK(c.arg_size_max >= ARG_SIZE_MIN && c.arg_size_max <= ARG_SIZE_LIMIT);
	CHECK(c.tick_us >= TICK_US_MIN && c.tick_us <= TICK_US_LIMIT);
	CHECK(c.overflow_rate_max >= 1 && c.overflow_rate_max <= OVERFLOW_RATE_LIMIT);
	show_all(&c, &shown);
	if (c.backend[0])
		text_printf(&shown, "backend = %s\n", c.backend);
	CHECK(config_parse(&again, slice_of_text(&shown), &e) == 0);
	CHECK(same(&c, &again));
	return 0;
}
