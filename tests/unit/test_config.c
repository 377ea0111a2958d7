// SPDX-License-Identifier: MIT
/* Global properties: the defaults, the values of each key, the configuration file. */
#include <grp.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "daemon/config/config.h"
#include "tests/unit/unit.h"

static const char *const keys[] = {"sys_group", "thread_group", "allow_kernel", "arg_size_max",
	"user_contexts_max", "user_memory_max", "memory_max", "tick_us", "overflow_rate_max",
	"ctxsw_budget", "energy_group", "audit"};

static void assert_shown(const struct config *c, const char *key, const char *want)
{
	TEXT_CLEANUP struct text out = {0};

	config_show(c, key, &out);
	assert_string_equal(out.p, want);
}

static void assert_same(const struct config *a, const struct config *b, const char *key)
{
	TEXT_CLEANUP struct text out = {0};

	config_show(b, key, &out);
	assert_shown(a, key, out.p);
}

static void assert_unchanged(const struct config *c, const struct config *before)
{
	for (unsigned i = 0; i < COUNT(keys); i++)
		assert_same(c, before, keys[i]);
}

static struct config some_config(void)
{
	return (struct config){
		.sys_group = {.kind = GROUP_GID, .gid = 54321},
		.thread_group = {.kind = GROUP_NONE},
		.allow_kernel = KERNEL_ROOT,
		.arg_size_max = 12345,
		.tick_us = 234,
		.overflow_rate_max = 567,
		.ctxsw_budget = 89,
	};
}

TEST(defaults)
{
	struct group *perfmon = getgrnam("perfmon");
	struct config c;
	char gid[16];

	config_init(&c);
	snprintf(gid, sizeof(gid), "%u\n", perfmon ? (unsigned)perfmon->gr_gid : 0);
	assert_shown(&c, "sys_group", perfmon ? gid : "none\n");
	assert_shown(&c, "thread_group", "any\n");
	assert_shown(&c, "allow_kernel", "group\n");
	assert_shown(&c, "arg_size_max", "4096\n");
	assert_shown(&c, "tick_us", "1000\n");
	assert_shown(&c, "overflow_rate_max", "100000\n");
	assert_shown(&c, "ctxsw_budget", "20\n");
	assert_shown(&c, "energy_group", "none\n");
	assert_shown(&c, "audit", "on\n");
}

TEST(store)
{
	static const struct {
		const char *key, *value, *shown;
	} cases[] = {
		{"sys_group", "any", "any\n"},
		{"sys_group", "none", "none\n"},
		{"sys_group", "0", "0\n"},
		{"sys_group", " 1000\t", "1000\n"},
		{"sys_group", "0x10", "16\n"},
		{"sys_group", "4294967294", "4294967294\n"},
		{"sys_group", "root", "0\n"},
		{"thread_group", "none", "none\n"},
		{"thread_group", "any", "any\n"},
		{"thread_group", "root", "0\n"},
		{"thread_group", "77", "77\n"},
		{"energy_group", "77", "77\n"},
		{"energy_group", "any", "any\n"},
		{"allow_kernel", "any", "any\n"},
		{"allow_kernel", "group", "group\n"},
		{"allow_kernel", " root ", "root\n"},
		{"arg_size_max", "4096", "4096\n"},
		{"arg_size_max", "65536", "65536\n"},
		{"arg_size_max", "0x2000", "8192\n"},
		{"user_contexts_max", "1", "1\n"},
		{"user_contexts_max", "65536", "65536\n"},
		{"user_memory_max", "65536", "65536\n"},
		{"memory_max", "0x10000000000", "1099511627776\n"},
		{"tick_us", "100", "100\n"},
		{"tick_us", "1000000", "1000000\n"},
		{"overflow_rate_max", "1", "1\n"},
		{"overflow_rate_max", "1000000", "1000000\n"},
		{"ctxsw_budget", "1", "1\n"},
		{"ctxsw_budget", "100", "100\n"},
		{"audit", "on", "on\n"},
		{"audit", " off ", "off\n"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct config c = some_config(), before = c;

		assert_int_equal(config_store(&c, cases[i].key, slice_of(cases[i].value), &why), 0);
		assert_shown(&c, cases[i].key, cases[i].shown);
		for (unsigned k = 0; k < COUNT(keys); k++)
			if (strcmp(keys[k], cases[i].key) != 0)
				assert_same(&c, &before, keys[k]);
	}
}

TEST(store_errors)
{
	static const struct {
		const char *key, *value;
		int no;
		const char *word;
	} cases[] = {
		{"sys_group", "", EINVAL, "''"},
		{"sys_group", "no_such_group_here", EINVAL, "'no_such_group_here'"},
		{"sys_group", "Any", EINVAL, "'Any'"},
		{"sys_group", "any none", EINVAL, "'any none'"},
		{"sys_group", "-1", EINVAL, "'-1'"},
		{"sys_group", "010", EINVAL, "'010'"},
		{"sys_group", "4294967295", ERANGE, "4294967294"},
		{"thread_group", "4294967296", ERANGE, "4294967294"},
		{"thread_group", "1x", EINVAL, "'1x'"},
		{"allow_kernel", "", EINVAL, "any, group or root"},
		{"allow_kernel", "none", EINVAL, "any, group or root"},
		{"allow_kernel", "1", EINVAL, "any, group or root"},
		{"arg_size_max", "4095", ERANGE, "4096"},
		{"arg_size_max", "0", ERANGE, "4096"},
		{"arg_size_max", "65537", ERANGE, "65536"},
		{"arg_size_max", "4k", EINVAL, "'4k'"},
		{"arg_size_max", "", EINVAL, "not a number"},
		{"user_contexts_max", "0", ERANGE, "1"},
		{"user_contexts_max", "65537", ERANGE, "65536"},
		{"user_memory_max", "65535", ERANGE, "65536"},
		{"memory_max", "1048575", ERANGE, "1048576"},
		{"memory_max", "1099511627777", ERANGE, "1099511627776"},
		{"tick_us", "99", ERANGE, "100"},
		{"tick_us", "1000001", ERANGE, "1000000"},
		{"overflow_rate_max", "0", ERANGE, "1"},
		{"overflow_rate_max", "1000001", ERANGE, "1000000"},
		{"overflow_rate_max", "-1", EINVAL, "'-1'"},
		{"ctxsw_budget", "0", ERANGE, "1"},
		{"ctxsw_budget", "101", ERANGE, "100"},
		{"audit", "", EINVAL, "on or off"},
		{"audit", "1", EINVAL, "on or off"},
		{"sys_groups", "any", ENOENT, "'sys_groups'"},
		{"", "any", ENOENT, "perfmonfs(8)"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct config c = some_config(), before = c;
		int rc = config_store(&c, cases[i].key, slice_of(cases[i].value), &why);

		if (rc != -cases[i].no || why.no != cases[i].no)
			fail_msg("%s = '%s': %s instead of %s", cases[i].key, cases[i].value,
				rc ? err_name(-rc) : "0", err_name(cases[i].no));
		if (!strstr(why.text, cases[i].word))
			fail_msg("'%s' does not say \"%s\"", why.text, cases[i].word);
		assert_unchanged(&c, &before);
	}
}

TEST(parse)
{
	struct config c = some_config();

	assert_int_equal(config_parse(&c, slice_of(""), &why), 0);
	assert_shown(&c, "arg_size_max", "12345\n");
	assert_int_equal(config_parse(&c,
				 slice_of("# perfmonfs\n\n"
					  "sys_group = 7\n"
					  "\tthread_group=any # everybody\n"
					  "   \n"
					  "allow_kernel\t= group\t"),
				 &why),
		0);
	assert_shown(&c, "sys_group", "7\n");
	assert_shown(&c, "thread_group", "any\n");
	assert_shown(&c, "allow_kernel", "group\n");
	assert_shown(&c, "arg_size_max", "12345\n");
	assert_int_equal(config_parse(&c, slice_of("sys_group = 8\nsys_group = 9\n"), &why), 0);
	assert_shown(&c, "sys_group", "9\n");
	assert_string_equal(c.backend, "");
	assert_int_equal(config_parse(&c, slice_of("backend = sim:amd_v2 # of the file"), &why), 0);
	assert_string_equal(c.backend, "sim:amd_v2");
}

TEST(parse_errors)
{
	static const struct {
		const char *text;
		int no;
		const char *start, *word;
	} cases[] = {
		{"sys_group any", ENOENT, "line 1: ", "'sys_group any'"},
		{"sys_group", EINVAL, "line 1: ", "''"},
		{"= any", ENOENT, "line 1: ", "''"},
		{"# comment\n\nnope = 1\n", ENOENT, "line 3: ", "'nope'"},
		{"sys_group = any\nthread_group = any\narg_size_max = 1\n", ERANGE,
			"line 3: ", "4096"},
		{"sys_group = any\nallow_kernel = all\nnope = 1\n", EINVAL, "line 2: ", "'all'"},
		{"sys_group = any\r\n", EINVAL, "line 1: ", "control"},
		{"backend =", EINVAL, "line 1: ", "''"},
		{"backend = "
		 "a_word_that_is_as_long_as_the_names_of_a_backend_and_a_model_are_never",
			EINVAL, "line 1: ", "a_word"},
		{"a_key_that_is_longer_than_any_of_ours = 1\n", EINVAL, "line 1: ", "a_key_that"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct config c = some_config(), before = c;
		int rc = config_parse(&c, slice_of(cases[i].text), &why);

		if (rc != -cases[i].no)
			fail_msg("'%s': %s instead of %s", cases[i].text, rc ? err_name(-rc) : "0",
				err_name(cases[i].no));
		if (strncmp(why.text, cases[i].start, strlen(cases[i].start)) != 0 ||
			!strstr(why.text, cases[i].word))
			fail_msg("'%s': '%s'", cases[i].text, why.text);
		assert_unchanged(&c, &before);
	}
}

static void put_file(const char *path, const char *text)
{
	CLEANUP_FCLOSE FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
}

TEST(load)
{
	char dir[] = "/tmp/test_config.XXXXXX", path[64];
	struct config c = some_config(), before = c;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/conf", dir);
	assert_int_equal(config_load(&c, path, false, &why), 0);
	assert_int_equal(config_load(&c, path, true, &why), -ENOENT);
	assert_non_null(strstr(why.text, path));
	assert_non_null(strstr(why.text, "ENOENT"));
	assert_unchanged(&c, &before);
	put_file(path, "sys_group = 7\nallow_kernel = nobody\n");
	assert_int_equal(config_load(&c, path, false, &why), -EINVAL);
	assert_non_null(strstr(why.text, "/conf: line 2: "));
	assert_unchanged(&c, &before);
	put_file(path, "sys_group = 7\nallow_kernel = any\n");
	assert_int_equal(config_load(&c, path, true, &why), 0);
	assert_shown(&c, "sys_group", "7\n");
	assert_shown(&c, "allow_kernel", "any\n");
	before = c;
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(config_load(&c, path, true, &why), -EPERM);
	assert_non_null(strstr(why.text, path));
	assert_unchanged(&c, &before);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(truncate(path, 65536), 0);
	assert_int_equal(config_load(&c, path, true, &why), -E2BIG);
	assert_int_equal(config_load(&c, dir, true, &why), -EISDIR);
	unlink(path);
	rmdir(dir);
}
