// SPDX-License-Identifier: MIT
/* Commands as text: each verb, argument and error, and that what is printed can be written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/command/command.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void assert_refused(const char *text, int rc, const struct err *e, int no, const char *word)
{
	if (rc != -no)
		fail_msg("'%s': %s instead of %s", text, rc ? err_name(-rc) : "0", err_name(no));
	assert_int_equal(e->no, no);
	if (!strstr(e->text, word))
		fail_msg("'%s': '%s' does not say '%s'", text, e->text, word);
}

static void test_ctl(void **state)
{
	static const struct {
		const char *text;
		enum cmd_verb verb;
		unsigned cpu, set;
		bool has_set;
		const char *printed;
	} cases[] = {
		{"load cpu=1", CMD_LOAD, 1, 0, false, "load cpu=1\n"},
		{"load cpu=0 set=0", CMD_LOAD, 0, 0, true, "load cpu=0 set=0\n"},
		{"load set=5 cpu=2", CMD_LOAD, 2, 5, true, "load cpu=2 set=5\n"},
		{"\tload  cpu=0x10 ", CMD_LOAD, 16, 0, false, "load cpu=16\n"},
		{"load cpu=1048576 set=65535", CMD_LOAD, 1048576, 65535, true,
			"load cpu=1048576 set=65535\n"},
		{"start", CMD_START, 0, 0, false, "start\n"},
		{"start set=0", CMD_START, 0, 0, true, "start set=0\n"},
		{"start set=65535", CMD_START, 0, 65535, true, "start set=65535\n"},
		{"stop", CMD_STOP, 0, 0, false, "stop\n"},
		{"unload", CMD_UNLOAD, 0, 0, false, "unload\n"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		TEXT_CLEANUP struct text out = {0};
		struct command cmd = {0};
		struct err e;

		assert_int_equal(command_parse_ctl(slice_of(cases[i].text), &cmd, &e), 0);
		assert_int_equal(cmd.verb, cases[i].verb);
		assert_int_equal(cmd.cpu, cases[i].cpu);
		assert_int_equal(cmd.set, cases[i].set);
		assert_int_equal(cmd.has_set, cases[i].has_set);
		command_print_ctl(&cmd, &out);
		assert_string_equal(out.p, cases[i].printed);
	}
}

static void test_ctl_errors(void **state)
{
	static const struct {
		const char *text;
		int no;
		const char *word;
	} cases[] = {
		{"", EINVAL, "load, start, stop and unload"},
		{"  ", EINVAL, "load, start, stop and unload"},
		{"restart", EINVAL, "'restart'"},
		{"Load cpu=1", EINVAL, "'Load'"},
		{"loadcpu=1", EINVAL, "'loadcpu=1'"},
		{"load", EINVAL, "write 'load cpu=N [set=ID]'"},
		{"load set=0", EINVAL, "lacks"},
		{"load 1", EINVAL, "'1' is no argument of 'load'"},
		{"load cpu", EINVAL, "cpu"},
		{"load cpu=", EINVAL, "cpu"},
		{"load cpu =1", EINVAL, "cpu"},
		{"load cpu=-1", EINVAL, "'-1'"},
		{"load cpu=01", EINVAL, "leading zeros"},
		{"load cpu=1,2", EINVAL, "'1,2'"},
		{"load cpu=1=2", EINVAL, "'1=2'"},
		{"load cpu=1048577", ERANGE, "cpu"},
		{"load cpu=99999999999999999999", ERANGE, "cpu"},
		{"load cpu=1 cpu=1", EINVAL, "twice"},
		{"load cpu=1 set=0 set=1", EINVAL, "twice"},
		{"load cpu=1 set=65536", ERANGE, "set"},
		{"load cpu=1 pid=7", EINVAL, "'pid'"},
		{"load cpu=1 now", EINVAL, "'now'"},
		{"start cpu=1", EINVAL, "write 'start [set=ID]'"},
		{"start set=65536", ERANGE, "65535"},
		{"start set=x", EINVAL, "set"},
		{"start 0", EINVAL, "'0'"},
		{"stop set=0", EINVAL, "write 'stop'"},
		{"stop stop", EINVAL, "'stop'"},
		{"unload cpu=1", EINVAL, "write 'unload'"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct command cmd = {0};
		struct err e;
		int rc = command_parse_ctl(slice_of(cases[i].text), &cmd, &e);

		assert_refused(cases[i].text, rc, &e, cases[i].no, cases[i].word);
	}
}

static void test_values(void **state)
{
	static const struct {
		const char *text;
		int pmc_no, pmd_no;
		uint64_t v;
	} cases[] = {
		{"0", 0, 0, 0},
		{" 0x5300c0\t", 0, 0, 0x5300c0},
		{"18446744073709551615", 0, 0, UINT64_MAX},
		{"-1", EINVAL, 0, UINT64_MAX},
		{" -100000 ", EINVAL, 0, (uint64_t)-100000},
		{"-9223372036854775808", EINVAL, 0, 1ULL << 63},
		{"-9223372036854775809", EINVAL, ERANGE},
		{"18446744073709551616", ERANGE, ERANGE},
		{"", EINVAL, EINVAL},
		{" ", EINVAL, EINVAL},
		{"1 2", EINVAL, EINVAL},
		{"010", EINVAL, EINVAL},
		{"5300c0", EINVAL, EINVAL},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct slice s = slice_of(cases[i].text);
		struct err e;
		uint64_t v;

		assert_int_equal(command_parse_pmc(s, &v, &e), -cases[i].pmc_no);
		if (!cases[i].pmc_no)
			assert_int_equal(v, cases[i].v);
		assert_int_equal(command_parse_pmd(s, &v, &e), -cases[i].pmd_no);
		if (!cases[i].pmd_no)
			assert_int_equal(v, cases[i].v);
	}
}

static void test_print_values(void **state)
{
	TEXT_CLEANUP struct text out = {0};

	(void)state;
	command_print_pmc(0x5300c0, &out);
	command_print_pmc(UINT64_MAX, &out);
	command_print_pmd(0, &out);
	command_print_pmd(UINT64_MAX, &out);
	assert_string_equal(
		out.p, "0x00000000005300c0\n0xffffffffffffffff\n0\n18446744073709551615\n");
}

static const struct cmd_reg vector[] = {
	{false, 0, 3, 0x5300c0},
	{true, 0, 3, (uint64_t)-100000},
	{true, 65535, 3, 7},
	{false, 16, 3, 0x333},
};

static void assert_vector(const struct command *cmd, unsigned n)
{
	assert_int_equal(cmd->verb, CMD_WRITE);
	assert_int_equal(cmd->first_line, 1);
	assert_int_equal(cmd->nregs, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(cmd->regs[i].pmd, vector[i].pmd);
		assert_int_equal(cmd->regs[i].num, vector[i].num);
		assert_int_equal(cmd->regs[i].set, vector[i].set);
		assert_int_equal(cmd->regs[i].value, vector[i].value);
	}
}

static void test_regs(void **state)
{
	struct slice s = slice_of("pmc0 0x5300c0\n\tpmd0   -100000 \npmd0xffff 7\npmc16 0x333\n");
	TEXT_CLEANUP struct text out = {0};
	struct command cmd = {0};
	struct err e;

	(void)state;
	assert_int_equal(command_parse_regs(s, 3, &cmd, &e), 0);
	assert_int_equal(cmd.cut.no, 0);
	assert_vector(&cmd, 4);
	command_print_regs(&cmd, &out);
	assert_string_equal(out.p, "pmc0 0x00000000005300c0\npmd0 18446744073709451616\n"
				   "pmd65535 7\npmc16 0x0000000000000333\n");
	command_free(&cmd);
	assert_null(cmd.regs);
	assert_int_equal(command_parse_regs((struct slice){out.p, out.n}, 3, &cmd, &e), 0);
	assert_vector(&cmd, 4);
	command_free(&cmd);
}

/* The lines before a bad one take effect; the bad one is reported after them. */
static void test_regs_cut(void **state)
{
	static const struct {
		const char *text;
		unsigned n;
		int no;
		const char *word;
	} cases[] = {
		{"bogus", 0, EINVAL, "line 1: 'bogus' is no register"},
		{" ", 0, EINVAL, "line 1: "},
		{"\npmc0 0x5300c0", 0, EINVAL, "line 1: "},
		{"pmc0", 0, EINVAL, "line 1: "},
		{"pmc 0 1", 0, EINVAL, "line 1: "},
		{"pmc0x 1", 0, EINVAL, "line 1: "},
		{"pmc00 1", 0, EINVAL, "line 1: "},
		{"PMC0 1", 0, EINVAL, "line 1: 'PMC0'"},
		{"pmx0 1", 0, EINVAL, "line 1: 'pmx0'"},
		{"pmc65536 1", 0, ERANGE, "65535"},
		{"pmc0 -1", 0, EINVAL, "'-1'"},
		{"pmc0 1 2", 0, EINVAL, "'1 2'"},
		{"pmd0 18446744073709551616", 0, ERANGE, "64 bits"},
		{"pmc0 0x5300c0\npmd0", 1, EINVAL, "line 2: "},
		{"pmc0 0x5300c0\n\npmd0 -100000", 1, EINVAL, "line 2: "},
		{"pmc0 0x5300c0\npmd0 -100000\npmd65535 x\npmc16 0x333", 2, EINVAL, "line 3: 'x'"},
		{"pmc0 0x5300c0\npmd0 -100000\npmd65535 7\npmc-1 0", 3, EINVAL, "line 4: '-1'"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct command cmd = {0};
		struct err e;

		assert_int_equal(command_parse_regs(slice_of(cases[i].text), 3, &cmd, &e), 0);
		assert_vector(&cmd, cases[i].n);
		assert_refused(cases[i].text, -cmd.cut.no, &cmd.cut, cases[i].no, cases[i].word);
		command_free(&cmd);
	}
}

static void test_regs_nothing(void **state)
{
	struct command cmd = {0};
	struct err e;

	(void)state;
	assert_refused("", command_parse_regs(slice_of(""), 0, &cmd, &e), &e, EINVAL, "a line");
	assert_int_equal(cmd.nregs, 0);
	command_free(&cmd);
}

static void test_flags(void **state)
{
	static const struct {
		const char *text;
		unsigned flags;
		const char *printed;
	} cases[] = {
		{"none", 0, "none\n"},
		{" none ", 0, "none\n"},
		{"system_wide", CTX_SYSTEM_WIDE, "system_wide\n"},
		{"notify_block", CTX_NOTIFY_BLOCK, "notify_block\n"},
		{"ovfl_no_msg", CTX_OVFL_NO_MSG, "ovfl_no_msg\n"},
		{"ovfl_no_msg\tsystem_wide", CTX_SYSTEM_WIDE | CTX_OVFL_NO_MSG,
			"system_wide ovfl_no_msg\n"},
		{"system_wide notify_block ovfl_no_msg",
			CTX_SYSTEM_WIDE | CTX_NOTIFY_BLOCK | CTX_OVFL_NO_MSG,
			"system_wide notify_block ovfl_no_msg\n"},
		{"system_wide system_wide", CTX_SYSTEM_WIDE, "system_wide\n"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		TEXT_CLEANUP struct text out = {0};
		unsigned flags = ~0u;
		struct err e;

		assert_int_equal(command_parse_flags(slice_of(cases[i].text), &flags, &e), 0);
		assert_int_equal(flags, cases[i].flags);
		command_print_flags(flags, &out);
		assert_string_equal(out.p, cases[i].printed);
	}
}

static void test_flags_errors(void **state)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{"", "'none'"},
		{" ", "'none'"},
		{"SYSTEM_WIDE", "'SYSTEM_WIDE'"},
		{"system_wide,notify_block", "'system_wide,notify_block'"},
		{"system_wide none", "'none'"},
		{"none system_wide", "alone"},
		{"none none", "alone"},
		{"0", "'0'"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		unsigned flags;
		struct err e;
		int rc = command_parse_flags(slice_of(cases[i].text), &flags, &e);

		assert_refused(cases[i].text, rc, &e, EINVAL, cases[i].word);
	}
}

static void test_state(void **state)
{
	static const struct {
		struct ctx_info info;
		const char *printed;
	} cases[] = {
		{{CTX_UNLOADED, 0, 7, 7}, "unloaded\n"},
		{{CTX_LOADED, CTX_SYSTEM_WIDE, 0, 0}, "loaded cpu=0 set=0\n"},
		{{CTX_RUNNING, 0, 127, 65535}, "running cpu=127 set=65535\n"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		TEXT_CLEANUP struct text out = {0};

		command_print_state(&cases[i].info, &out);
		assert_string_equal(out.p, cases[i].printed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ctl),
		cmocka_unit_test(test_ctl_errors),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_print_values),
		cmocka_unit_test(test_regs),
		cmocka_unit_test(test_regs_cut),
		cmocka_unit_test(test_regs_nothing),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_flags_errors),
		cmocka_unit_test(test_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
