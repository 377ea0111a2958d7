// SPDX-License-Identifier: MIT
/* Commands as text: each verb, argument and error; printed text can be written. */
#include "daemon/command/command.h"
#include "tests/unit/unit.h"

/* A PMU that names events, as that of the perf backend. */
static const struct pmu pmu = {
	.npmcs = 1,
	.pmcs = {{.num = 0, .user = EVTSEL_USR, .kernel = EVTSEL_OS, .enable = EVTSEL_EN}},
	.nevents = 3,
	.events = {{"clock", 0x430001, "time", true, false},
		{"faults", 0x430003, "page faults", false, false},
		{"sampled", 0x430004, "time, by samples", true, true}},
};

static void assert_refused(const char *text, int rc, const struct err *e, int no, const char *word)
{
	if (rc != -no)
		fail_msg("'%s': %s instead of %s", text, rc ? err_name(-rc) : "0", err_name(no));
	assert_int_equal(e->no, no);
	if (!strstr(e->text, word))
		fail_msg("'%s': '%s' does not say '%s'", text, e->text, word);
}

/* What is written, and what of the command it gives; it reads back as it is written, or as
 * @printed. */
TEST(ctl)
{
	static const struct {
		const char *text;
		struct command want;
		const char *printed;
	} cases[] = {
		{"load cpu=1", {CMD_LOAD, .load.cpu = 1}},
		{"load cpu=0 set=0", {CMD_LOAD, .has_set = true}},
		{"load set=5 cpu=2", {CMD_LOAD, .load.cpu = 2, .has_set = true, .set = 5},
			"load cpu=2 set=5"},
		{"\tload  cpu=0x10 ", {CMD_LOAD, .load.cpu = 16}, "load cpu=16"},
		{"load cpu=1048576 set=65535",
			{CMD_LOAD, .load.cpu = 1048576, .has_set = true, .set = 65535}},
		{"load tid=1", {CMD_LOAD, .tid = 1}},
		{"load tid=4194304 set=7", {CMD_LOAD, .tid = 4194304, .has_set = true, .set = 7}},
		{"load follow tid=0x10", {CMD_LOAD, .tid = 16, .load.follow = true},
			"load tid=16 follow"},
		{"load pid=5 follow", {CMD_LOAD, .tid = 5, .load.follow = true}},
		{"load ptrace=no tid=5", {CMD_LOAD, .tid = 5, .load.untraced = true},
			"load tid=5 ptrace=no"},
		{"load ptrace=yes follow set=0 tid=5",
			{CMD_LOAD, .tid = 5, .has_set = true, .load.follow = true},
			"load tid=5 set=0 follow"},
		{"load inherit tid=5", {CMD_LOAD, .tid = 5, .load.inherit = true},
			"load tid=5 inherit"},
		{"load pid=5 inherit", {CMD_LOAD, .tid = 5, .load.inherit = true}},
		{"load on_exec tid=5 inherit ptrace=no",
			{CMD_LOAD, .tid = 5, .load.untraced = true, .load.inherit = true,
				.load.on_exec = true},
			"load tid=5 ptrace=no inherit on_exec"},
		{"start", {CMD_START}},
		{"start set=0", {CMD_START, .has_set = true}},
		{"start set=65535", {CMD_START, .has_set = true, .set = 65535}},
		{"stop", {CMD_STOP}},
		{"restart", {CMD_RESTART}},
		{"unload", {CMD_UNLOAD}},
		{"signal sig=0", {CMD_SIGNAL}},
		{"signal sig=64", {CMD_SIGNAL, .signal.sig = 64}},
		{"signal sig=29 tid=1", {CMD_SIGNAL, .signal.sig = 29, .tid = 1}},
		{"signal tid=4194304 sig=0x1d", {CMD_SIGNAL, .signal.sig = 29, .tid = 4194304},
			"signal sig=29 tid=4194304"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		const char *printed = cases[i].printed ? cases[i].printed : cases[i].text;
		const struct command *want = &cases[i].want;
		TEXT_CLEANUP struct text out = {0};
		struct command cmd = {0};

		assert_int_equal(command_parse_ctl(slice_of(cases[i].text), &cmd, &why), 0);
		assert_int_equal(cmd.verb, want->verb);
		assert_int_equal(cmd.set, want->set);
		assert_int_equal(cmd.has_set, want->has_set);
		assert_int_equal(cmd.tid, want->tid);
		if (want->verb == CMD_SIGNAL)
			assert_int_equal(cmd.signal.sig, want->signal.sig);
		if (want->verb == CMD_LOAD) {
			assert_int_equal(cmd.load.cpu, want->load.cpu);
			assert_int_equal(cmd.load.follow, want->load.follow);
			assert_int_equal(cmd.load.untraced, want->load.untraced);
			assert_int_equal(cmd.load.inherit, want->load.inherit);
			assert_int_equal(cmd.load.on_exec, want->load.on_exec);
			assert_null(cmd.load.cpus);
		}
		command_print_ctl(&cmd, &out);
		assert_int_equal(out.p[out.n - 1], '\n');
		out.p[out.n - 1] = '\0';
		assert_string_equal(out.p, printed);
	}
}

TEST(ctl_cpus)
{
	static const struct {
		const char *list;
		unsigned n, first, last; /* The number of CPUs, and two of them. */
		const char *printed;
	} cases[] = {
		{"0", 1, 0, 0, "0"},
		{"0-3,8", 5, 0, 8, "0-3,8"},
		{"8,3-0x5,4", 4, 3, 8, "3-5,8"},
		{"63,64,64", 2, 63, 64, "63-64"},
		{"0-4095", 4096, 0, 4095, "0-4095"},
		{"4095", 1, 4095, 4095, "4095"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		TEXT_CLEANUP struct text in = {0}, out = {0}, want = {0};
		struct command cmd = {0};
		unsigned n = 0;

		text_printf(&in, "load cpus=%s tid=9 follow", cases[i].list);
		text_printf(&want, "load tid=9 follow cpus=%s\n", cases[i].printed);
		assert_int_equal(command_parse_ctl(slice_of(in.p), &cmd, &why), 0);
		assert_non_null(cmd.load.cpus);
		for (unsigned cpu = 0; cpu < 2 * CPUS_MAX; cpu++)
			n += cpus_has(cmd.load.cpus, cpu);
		assert_int_equal(n, cases[i].n);
		assert_true(cpus_has(cmd.load.cpus, cases[i].first));
		assert_true(cpus_has(cmd.load.cpus, cases[i].last));
		command_print_ctl(&cmd, &out);
		assert_string_equal(out.p, want.p);
		command_free(&cmd);
		assert_null(cmd.load.cpus);
	}
}

TEST(ctl_errors)
{
	static const struct {
		const char *text;
		int no;
		const char *word;
	} cases[] = {
		{"", EINVAL, "write load, start, stop, restart, unload or signal"},
		{"  ", EINVAL, "write load, start, stop, restart, unload or signal"},
		{"reload", EINVAL, "'reload'"},
		{"Load cpu=1", EINVAL, "'Load'"},
		{"loadcpu=1", EINVAL, "'loadcpu=1'"},
		{"load", EINVAL, "write 'load cpu=N [set=ID]', 'load tid=N [set=ID]"},
		{"load set=0", EINVAL, "lacks"},
		{"load follow", EINVAL, "lacks"},
		{"load cpus=1", EINVAL, "lacks"},
		{"load cpu=1 tid=1", EINVAL, "on a CPU or on a thread"},
		{"load cpu=1 follow", EINVAL, "are for threads"},
		{"load cpu=1 cpus=1", EINVAL, "are for threads"},
		{"load cpu=1 ptrace=no", EINVAL, "are for threads"},
		{"load cpu=1 ptrace=yes", EINVAL, "are for threads"},
		{"load pid=0", EINVAL, "no process has number 0"},
		{"load pid=1 tid=1", EINVAL, "leave one out"},
		{"load pid=1 cpu=1", EINVAL, "leave out cpu"},
		{"load pid=1 ptrace=no", EINVAL, "leave ptrace=no out"},
		{"load tid=0", EINVAL, "no thread has number 0: write one that ps -eL shows"},
		{"load tid=-1", EINVAL, "'-1'"},
		{"load tid=", EINVAL, "tid"},
		{"load tid", EINVAL, "tid"},
		{"load tid=self", EINVAL, "'self'"},
		{"load tid=4194305", ERANGE, "no thread has number 4194305"},
		{"load cpu=99999999", ERANGE, "there is no CPU 99999999: see cpus"},
		{"load pid=99999999", ERANGE, "no process has number 99999999"},
		{"load tid=1 tid=1", EINVAL, "twice"},
		{"load tid=1 follow follow", EINVAL, "'follow' is given twice"},
		{"load tid=1 follow=1", EINVAL, "write the word alone"},
		{"load tid=1 follow=", EINVAL, "write the word alone"},
		{"load tid=1 follow ptrace=no", EINVAL, "leave out follow or ptrace=no"},
		{"load ptrace=no tid=1 follow", EINVAL, "leave out follow or ptrace=no"},
		{"load tid=1 on_exec", EINVAL, "write 'load tid=N inherit on_exec'"},
		{"load tid=1 inherit follow", EINVAL, "leave one out"},
		{"load pid=1 inherit on_exec", EINVAL, "write 'load tid=N inherit on_exec'"},
		{"load pid=1 ptrace=no", EINVAL, "without inherit"},
		{"load tid=1 inherit cpus=0", EINVAL, "leave cpus out"},
		{"load cpu=1 inherit", EINVAL, "are for threads"},
		{"load tid=1 inherit=1", EINVAL, "write the word alone"},
		{"load tid=1 inherit inherit", EINVAL, "twice"},
		{"load tid=1 ptrace", EINVAL, "ptrace=no"},
		{"load tid=1 ptrace=", EINVAL, "ptrace=no"},
		{"load tid=1 ptrace=0", EINVAL, "ptrace=no"},
		{"load tid=1 ptrace=no ptrace=yes", EINVAL, "twice"},
		{"load tid=1 cpus", EINVAL, "cpus: a number is missing"},
		{"load tid=1 cpus=", EINVAL, "cpus: a number is missing"},
		{"load tid=1 cpus=,", EINVAL, "a number is missing"},
		{"load tid=1 cpus=1,", EINVAL, "a number is missing"},
		{"load tid=1 cpus=3-1", EINVAL, "backwards"},
		{"load tid=1 cpus=-1", EINVAL, "cpus"},
		{"load tid=1 cpus=all", EINVAL, "'all'"},
		{"load tid=1 cpus=4096", ERANGE, "4095"},
		{"load tid=1 cpus=0-4096", ERANGE, "4095"},
		{"load tid=1 cpus=1 cpus=2", EINVAL, "twice"},
		{"load 1", EINVAL, "'1' is not an argument of 'load'"},
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
		{"load cpu=1 uid=7", EINVAL, "'uid'"},
		{"load cpu=1 now", EINVAL, "'now'"},
		{"start cpu=1", EINVAL, "write 'start [set=ID]'"},
		{"start set=65536", ERANGE, "65535"},
		{"start set=x", EINVAL, "set"},
		{"start 0", EINVAL, "'0'"},
		{"stop set=0", EINVAL, "write 'stop'"},
		{"stop stop", EINVAL, "'stop'"},
		{"unload cpu=1", EINVAL, "write 'unload'"},
		{"restart set=0", EINVAL, "write 'restart'"},
		{"signal", EINVAL, "write 'signal sig=N [tid=N]'"},
		{"signal tid=1", EINVAL, "lacks"},
		{"signal sig", EINVAL, "sig"},
		{"signal sig=", EINVAL, "sig"},
		{"signal sig=-1", EINVAL, "'-1'"},
		{"signal sig=SIGIO", EINVAL, "'SIGIO'"},
		{"signal sig=65", ERANGE, "64"},
		{"signal sig=4294967296", ERANGE, "64"},
		{"signal sig=1 sig=1", EINVAL, "twice"},
		{"signal sig=1 tid=0", EINVAL, "leave tid out"},
		{"signal sig=1 tid=4194305", ERANGE, "4194305"},
		{"signal sig=1 tid=18446744073709551615", ERANGE, "tid"},
		{"signal sig=1 tid=1 tid=1", EINVAL, "twice"},
		{"signal sig=1 cpu=0", EINVAL, "'cpu'"},
		{"signal sig=1 set=0", EINVAL, "'set'"},
		{"load cpu=0 sig=1", EINVAL, "'sig'"},
		{"start tid=1", EINVAL, "'tid'"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct command cmd = {0};
		int rc = command_parse_ctl(slice_of(cases[i].text), &cmd, &why);

		assert_refused(cases[i].text, rc, &why, cases[i].no, cases[i].word);
		command_free(&cmd);
	}
}

TEST(values)
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

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct slice s = slice_of(cases[i].text);
		struct cmd_reg r;
		uint64_t v;

		assert_int_equal(command_parse_pmc(s, &pmu, 0, &v, &why), -cases[i].pmc_no);
		if (!cases[i].pmc_no)
			assert_int_equal(v, cases[i].v);
		assert_int_equal(command_parse_pmd(s, &r, &why), -cases[i].pmd_no);
		if (!cases[i].pmd_no)
			assert_int_equal(r.value, cases[i].v);
	}
}

TEST(print_values)
{
	TEXT_CLEANUP struct text out = {0};

	command_print_pmc(0x5300c0, &out);
	command_print_pmc(UINT64_MAX, &out);
	command_print_pmd(0, &out);
	command_print_pmd(UINT64_MAX, &out);
	assert_string_equal(
		out.p, "0x00000000005300c0\n0xffffffffffffffff\n0\n18446744073709551615\n");
}

TEST(event_names)
{
	static const struct {
		const char *text;
		uint64_t value;
		const char *word; /* of the sentence; NULL: it is right */
	} cases[] = {
		{"faults", 0x430003, NULL},
		{" faults\t", 0x430003, NULL},
		{"faults:u", 0x410003, NULL},
		{"faults:k", 0x420003, NULL},
		{"faults:uk", 0x430003, NULL},
		{"faults:ku", 0x430003, NULL},
		{"clock", 0x430001, NULL},
		{"clock:uk", 0x430001, NULL},
		{"clock:u", 0, "both levels"},
		{"sampled:u", 0x410004, NULL},
		{"sampled:k", 0, "both levels"},
		{"clock:k", 0, "both levels"},
		{"faults:", 0, "not a level"},
		{"faults:x", 0, "not a level"},
		{"faults:u:k", 0, "not a level"},
		{"fault", 0, "pmu/events"},
		{"Faults", 0, "pmu/events"},
		{"faults u", 0, "pmu/events"},
		{":u", 0, "':u'"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		uint64_t v;
		int rc = command_parse_pmc(slice_of(cases[i].text), &pmu, 0, &v, &why);

		if (cases[i].word)
			assert_refused(cases[i].text, rc, &why, EINVAL, cases[i].word);
		else
			assert_int_equal(v, cases[i].value);
	}
}

/* A PMC that lacks the enable bit, as P6's second one, gets the value without it; one that is no
 * event select takes no name. */
TEST(event_names_of_pmcs)
{
	struct pmu p6 = pmu;
	uint64_t v;

	p6.npmcs = 3;
	p6.pmcs[1] = (struct pmu_pmc){
		.num = 1, .rsvd = EVTSEL_EN, .user = EVTSEL_USR, .kernel = EVTSEL_OS};
	p6.pmcs[2] = (struct pmu_pmc){.num = 2, .user = 0x222, .kernel = 0x111, .enable = 0x333};
	assert_int_equal(command_parse_pmc(slice_of("faults:u"), &p6, 1, &v, &why), 0);
	assert_int_equal(v, 0x10003);
	assert_refused("faults", command_parse_pmc(slice_of("faults"), &p6, 2, &v, &why), &why,
		EINVAL, "another PMC");
}

static struct regset regset(const char *list)
{
	struct slice rest = slice_of(list);
	struct regset set = {0};

	while (rest.n)
		regset_add(&set, (unsigned)strtoul(slice_cut(&rest, ',').p, NULL, 10));
	return set;
}

static void assert_conf(const char *text, const struct pmd_conf *is, const struct pmd_conf *is_to)
{
	if (is->long_reset != is_to->long_reset || is->short_reset != is_to->short_reset ||
		is->thresh != is_to->thresh || is->mask != is_to->mask ||
		is->eventid != is_to->eventid || is->seed != is_to->seed ||
		is->flags != is_to->flags)
		fail_msg("'%s' is not what it says", text);
	assert_memory_equal(&is->smpl, &is_to->smpl, sizeof(is->smpl));
	assert_memory_equal(&is->reset, &is_to->reset, sizeof(is->reset));
}

/* Each option alone, then all; absent options are off, whatever was set before. */
TEST(pmd)
{
	const struct pmd_conf all = {.long_reset = -2ULL,
		.short_reset = 16,
		.thresh = 3,
		.mask = 0xff,
		.eventid = 9,
		.seed = 42,
		.flags = PMD_NOTIFY | PMD_RANDOM | PMD_NO64,
		.smpl = regset("0,1,2,16"),
		.reset = regset("5,7")};
	const struct {
		const char *text;
		uint64_t value;
		struct pmd_conf conf;
		const char *printed;
	} cases[] = {
		{"5", 5, {.flags = PMD_BARE}, "5"},
		{"-1 long=-100", UINT64_MAX, {.long_reset = -100ULL},
			"18446744073709551615 long=18446744073709551516"},
		{"0 short=0x10", 0, {.short_reset = 16}, "0 short=16"},
		{"-7", -7ULL, {.flags = PMD_BARE}, "18446744073709551609"},
		{"-7 short=0", -7ULL, {0}, "18446744073709551609 short=0"},
		{"-7 long=0", -7ULL, {0}, "18446744073709551609 short=0"},
		{"-7 short=0 long=1", -7ULL, {.long_reset = 1}, "18446744073709551609 long=1"},
		{"0 long=0 short=0 mask=0 seed=0 eventid=0", 0, {0}, "0"},
		{"0 thresh=1", 0, {.thresh = 1}, "0 long=0 short=0 thresh=1"},
		{"0 thresh=18446744073709551615", 0, {.thresh = UINT64_MAX},
			"0 long=0 short=0 thresh=18446744073709551615"},
		{"-7 thresh=2", -7ULL, {.long_reset = -7ULL, .short_reset = -7ULL, .thresh = 2},
			"18446744073709551609 long=18446744073709551609 "
			"short=18446744073709551609 thresh=2"},
		{"-7 thresh=2 short=0 long=1", -7ULL, {.long_reset = 1, .thresh = 2},
			"18446744073709551609 long=1 short=0 thresh=2"},
		{"0 mask=255", 0, {.mask = 255, .flags = PMD_BARE}, "0 mask=0xff"},
		{"0 mask=-1", 0, {.mask = UINT64_MAX, .flags = PMD_BARE},
			"0 mask=0xffffffffffffffff"},
		{"0 seed=4294967295", 0, {.seed = UINT32_MAX, .flags = PMD_BARE},
			"0 seed=4294967295"},
		{"0 eventid=0xffffffffffffffff", 0, {.eventid = UINT64_MAX, .flags = PMD_BARE},
			"0 eventid=18446744073709551615"},
		{"0 no64", 0, {.flags = PMD_NO64 | PMD_BARE}, "0 no64"},
		{"5 gaps=2 uncertain=7 no64", 5, {.flags = PMD_NO64 | PMD_BARE}, "5 no64"},
		{"0\trandom  notify ", 0, {.flags = PMD_NOTIFY | PMD_RANDOM},
			"0 long=0 short=0 notify random"},
		{"-7 notify", -7ULL,
			{.long_reset = -7ULL, .short_reset = -7ULL, .flags = PMD_NOTIFY},
			"18446744073709551609 long=18446744073709551609 "
			"short=18446744073709551609 notify"},
		{"-7 notify long=0 short=0", -7ULL, {.flags = PMD_NOTIFY},
			"18446744073709551609 long=0 short=0 notify"},
		{"-7 notify long=-9 short=1", -7ULL,
			{.long_reset = -9ULL, .short_reset = 1, .flags = PMD_NOTIFY},
			"18446744073709551609 long=18446744073709551607 short=1 notify"},
		{"5 smpl=1", 5, {.long_reset = 5, .short_reset = 5, .smpl = regset("1")},
			"5 long=5 short=5 smpl=1"},
		{"5 smpl=1 long=0 short=0", 5, {.smpl = regset("1")}, "5 long=0 short=0 smpl=1"},
		{"0 smpl=0", 0, {.smpl = regset("0")}, "0 long=0 short=0 smpl=0"},
		{"0 reset=319,0x10,17", 0, {.flags = PMD_BARE, .reset = regset("16,17,319")},
			"0 reset=16-17,319"},
		{"0 reset=3,1-2,2-2", 0, {.flags = PMD_BARE, .reset = regset("1,2,3")},
			"0 reset=1-3"},
		{"7 eventid=9 reset=7,5 smpl=0-2,16 no64 random notify seed=42 mask=0xff "
		 "thresh=3 short=16 long=-2",
			7, all,
			"7 long=18446744073709551614 short=16 thresh=3 mask=0xff seed=42 notify "
			"random no64 smpl=0-2,16 reset=5,7 eventid=9"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct cmd_reg r = {.pmd = true, .num = 4, .set = 3, .conf = all};
		struct command cmd = {.vector.regs = &r, .vector.nregs = 1};
		TEXT_CLEANUP struct text out = {0};

		assert_int_equal(command_parse_pmd(slice_of(cases[i].text), &r, &why), 0);
		assert_int_equal(r.value, cases[i].value);
		assert_conf(cases[i].text, &r.conf, &cases[i].conf);
		assert_true(r.pmd && r.num == 4 && r.set == 3);
		command_print_regs(&cmd, &out);
		assert_memory_equal(out.p, "pmd4 ", 5);
		assert_int_equal(out.p[out.n - 1], '\n');
		out.p[out.n - 1] = '\0';
		assert_string_equal(out.p + 5, cases[i].printed);
	}
}

TEST(pmd_errors)
{
	static const struct {
		const char *text;
		int no;
		const char *word;
	} cases[] = {
		{"", EINVAL, "the value is missing"},
		{"notify", EINVAL, "the value is missing"},
		{"short=5 0", EINVAL, "the value is missing"},
		{"x notify", EINVAL, "'x' is not a number"},
		{"0 1", EINVAL, "'1' is not an option"},
		{"0 period=5", EINVAL, "'period' is not an option"},
		{"0 Notify", EINVAL, "'Notify' is not an option"},
		{"0 =5", EINVAL, "'' is not an option"},
		{"0 long", EINVAL, "write 'long=N'"},
		{"0 long=", EINVAL, "write 'long=N'"},
		{"0 long =5", EINVAL, "write 'long=N'"},
		{"0 long=x", EINVAL, "long: 'x'"},
		{"0 long=5=6", EINVAL, "long: '5=6'"},
		{"0 short=18446744073709551616", ERANGE, "short: "},
		{"0 short=-9223372036854775809", ERANGE, "short: "},
		{"0 mask=0x10000000000000000", ERANGE, "mask: "},
		{"0 eventid=ff", EINVAL, "eventid: "},
		{"0 thresh=0", EINVAL, "leave it out"},
		{"0 thresh=-1", EINVAL, "thresh: "},
		{"0 seed=-1", EINVAL, "seed: "},
		{"0 seed=4294967296", ERANGE, "seed: "},
		{"0 notify=1", EINVAL, "write the word alone"},
		{"0 random=", EINVAL, "write the word alone"},
		{"0 long=1 long=1", EINVAL, "'long' is given twice"},
		{"0 seed=0 seed=0", EINVAL, "'seed' is given twice"},
		{"0 gaps", EINVAL, "write 'gaps=N'"},
		{"0 uncertain=x", EINVAL, "uncertain: 'x'"},
		{"0 no64 no64", EINVAL, "'no64' is given twice"},
		{"0 reset=1 smpl=1 reset=2", EINVAL, "'reset' is given twice"},
		{"0 smpl", EINVAL, "write 'smpl=LIST'"},
		{"0 smpl=", EINVAL, "write 'smpl=LIST'"},
		{"0 smpl=none", EINVAL, "smpl: "},
		{"0 reset=,", EINVAL, "a number is missing"},
		{"0 reset=,1", EINVAL, "a number is missing"},
		{"0 reset=1,", EINVAL, "a number is missing"},
		{"0 reset=1,,2", EINVAL, "a number is missing"},
		{"0 reset=-", EINVAL, "a number is missing"},
		{"0 reset=-1", EINVAL, "a number is missing"},
		{"0 reset=1-", EINVAL, "a number is missing"},
		{"0 reset=1-,2", EINVAL, "a number is missing"},
		{"0 reset=1-2-3", EINVAL, "'2-3'"},
		{"0 reset=3-1", EINVAL, "'3-1' runs backwards"},
		{"0 reset=0,3-1", EINVAL, "'3-1' runs backwards"},
		{"0 reset=1, 2", EINVAL, "a number is missing"},
		{"0 reset=01", EINVAL, "reset: '01'"},
		{"0 reset=320", ERANGE, "319"},
		{"0 reset=0-320", ERANGE, "319"},
		{"0 reset=320-1", ERANGE, "319"},
		{"0 reset=0-18446744073709551616", ERANGE, "reset: "},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct cmd_reg r;
		int rc = command_parse_pmd(slice_of(cases[i].text), &r, &why);

		assert_refused(cases[i].text, rc, &why, cases[i].no, cases[i].word);
	}
}

TEST(overflows)
{
	struct cmd_reg regs[] = {
		{.num = 0, .value = 1},
		{.pmd = true, .num = 0},
		{.pmd = true,
			.num = 319,
			.last_reset = UINT64_MAX,
			.thresh_left = 2,
			.overflows = 3},
	};
	struct command cmd = {.vector.regs = regs, .vector.nregs = COUNT(regs)};
	TEXT_CLEANUP struct text out = {0};

	command_print_overflows(&cmd, &out);
	assert_string_equal(out.p,
		"pmd0 overflows=0 last_reset=0 thresh_left=0\n"
		"pmd319 overflows=3 last_reset=18446744073709551615 thresh_left=2\n");
}

static const struct cmd_reg vector[] = {
	{false, 0, 3, 0x5300c0},
	{true, 0, 3, (uint64_t)-100000,
		{.long_reset = (uint64_t)-100000, .short_reset = 5, .flags = PMD_NOTIFY}},
	{true, 65535, 3, 7, {.flags = PMD_BARE}},
	{false, 16, 3, 0x333},
};

static void assert_vector(const struct command *cmd, unsigned n)
{
	assert_int_equal(cmd->verb, CMD_WRITE);
	assert_int_equal(cmd->vector.first_line, 1);
	assert_int_equal(cmd->vector.nregs, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(cmd->vector.regs[i].pmd, vector[i].pmd);
		assert_int_equal(cmd->vector.regs[i].num, vector[i].num);
		assert_int_equal(cmd->vector.regs[i].set, vector[i].set);
		assert_int_equal(cmd->vector.regs[i].value, vector[i].value);
		assert_conf("regs", &cmd->vector.regs[i].conf, &vector[i].conf);
	}
}

TEST(regs)
{
	struct slice s = slice_of("pmc0 0x5300c0\n\tpmd0   -100000 notify short=5 \npmd0xffff 7\n"
				  "pmc16 0x333\n");
	TEXT_CLEANUP struct text out = {0};
	struct command cmd = {0};

	assert_int_equal(command_parse_regs(s, &pmu, 3, &cmd, &why), 0);
	assert_int_equal(cmd.vector.cut.no, 0);
	assert_vector(&cmd, 4);
	command_print_regs(&cmd, &out);
	assert_string_equal(out.p,
		"pmc0 0x00000000005300c0\npmd0 18446744073709451616 long=18446744073709451616 "
		"short=5 notify\n"
		"pmd65535 7\npmc16 0x0000000000000333\n");
	cmd.vector.regs[1].gaps = (struct gaps){.n = 2, .ns = 7};
	text_clear(&out);
	command_print_regs(&cmd, &out);
	assert_non_null(strstr(out.p, " notify gaps=2 uncertain=7\n"));
	command_free(&cmd);
	assert_null(cmd.vector.regs);
	assert_int_equal(command_parse_regs((struct slice){out.p, out.n}, &pmu, 3, &cmd, &why), 0);
	assert_vector(&cmd, 4);
	command_free(&cmd);
}

/* The lines before an invalid one take effect; its error is reported after them. */
TEST(regs_cut)
{
	static const struct {
		const char *text;
		unsigned n;
		int no;
		const char *word;
	} cases[] = {
		{"bogus", 0, EINVAL, "line 1: 'bogus' is not a register"},
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
		{"pmc0 1 notify", 0, EINVAL, "'1 notify'"},
		{"pmd0 1 2", 0, EINVAL, "line 1: '2' is not an option"},
		{"pmd0 notify", 0, EINVAL, "line 1: the value is missing"},
		{"pmd0 1 seed=4294967296", 0, ERANGE, "line 1: seed: "},
		{"pmd0 18446744073709551616", 0, ERANGE, "64 bits"},
		{"pmc0 0x5300c0\npmd0", 1, EINVAL, "line 2: "},
		{"pmc0 0x5300c0\n\npmd0 1", 1, EINVAL, "line 2: "},
		{"pmc0 0x5300c0\npmd0 -100000 short=5 notify\npmd65535 x\npmc16 0x333", 2, EINVAL,
			"line 3: 'x'"},
		{"pmc0 0x5300c0\npmd0 -100000 short=5 notify\npmd65535 7\npmc-1 0", 3, EINVAL,
			"line 4: '-1'"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct command cmd = {0};

		assert_int_equal(
			command_parse_regs(slice_of(cases[i].text), &pmu, 3, &cmd, &why), 0);
		assert_vector(&cmd, cases[i].n);
		assert_refused(cases[i].text, -cmd.vector.cut.no, &cmd.vector.cut, cases[i].no,
			cases[i].word);
		command_free(&cmd);
	}
}

TEST(regs_nothing)
{
	struct command cmd = {0};

	assert_refused("", command_parse_regs(slice_of(""), &pmu, 0, &cmd, &why), &why, EINVAL,
		"no lines");
	assert_int_equal(cmd.vector.nregs, 0);
	command_free(&cmd);
}

TEST(flags)
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
		{"raw", CTX_RAW, "raw\n"},
		{"gaps", CTX_GAPS, "gaps\n"},
		{"raw notify_block", CTX_NOTIFY_BLOCK | CTX_RAW, "notify_block raw\n"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		TEXT_CLEANUP struct text out = {0};
		unsigned flags = ~0u;

		assert_int_equal(command_parse_flags(slice_of(cases[i].text), &flags, &why), 0);
		assert_int_equal(flags, cases[i].flags);
		command_print_flags(flags, &out);
		assert_string_equal(out.p, cases[i].printed);
	}
}

TEST(flags_errors)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{"", "'none'"},
		{" ", "'none'"},
		{"SYSTEM_WIDE", "'SYSTEM_WIDE'"},
		{"excl_idle", "write words from 'system_wide notify_block ovfl_no_msg raw gaps "
			      "background', or 'none'"},
		{"system_wide,notify_block", "'system_wide,notify_block'"},
		{"system_wide none", "'none'"},
		{"none system_wide", "other flags"},
		{"none none", "other flags"},
		{"0", "'0'"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		unsigned flags;
		int rc = command_parse_flags(slice_of(cases[i].text), &flags, &why);

		assert_refused(cases[i].text, rc, &why, EINVAL, cases[i].word);
	}
}

TEST(state)
{
	static const struct {
		struct ctx_info info;
		const char *printed;
	} cases[] = {
		{{.cpu = 7, .set = 7}, "unloaded\n"},
		{{CTX_LOADED, .flags = CTX_SYSTEM_WIDE}, "loaded cpu=0 set=0\n"},
		{{CTX_RUNNING, .cpu = 127, .set = 65535}, "running cpu=127 set=65535\n"},
		{{CTX_RUNNING, true, .cpu = 1}, "running cpu=1 set=0\n"},
		{{CTX_MASKED, .cpu = 1, .set = 2}, "masked cpu=1 set=2\n"},
		{{CTX_MASKED, true, .cpu = 1, .set = 2}, "masked cpu=1 set=2 throttled\n"},
		{{CTX_LOADED, .cpu = 1, .tid = 7}, "loaded tid=7 set=0\n"},
		{{CTX_RUNNING, .cpu = 1, .tid = 4194304, .set = 3}, "running tid=4194304 set=3\n"},
		{{CTX_MASKED, .tid = 7, .set = 3}, "masked tid=7 set=3\n"},
		{{CTX_MASKED, true, .tid = 7}, "masked tid=7 set=0 throttled\n"},
		{{CTX_UNLOADED, .tid = 7}, "unloaded\n"},
		{{CTX_RUNNING, .tid = 7, .gaps = 3}, "running tid=7 set=0 gaps=3\n"},
		{{CTX_RUNNING, .lost = true, .tid = 7, .gaps = 3},
			"running tid=7 set=0 gaps=3 lost\n"},
		{{CTX_UNLOADED, .tid = 7, .ended = true, .set = 3}, "zombie tid=7\n"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		TEXT_CLEANUP struct text out = {0};

		command_print_state(&cases[i].info, &out);
		assert_string_equal(out.p, cases[i].printed);
	}
}

TEST(evtset_id)
{
	static const struct {
		const char *name;
		int no;
		unsigned id;
	} cases[] = {
		{"0", 0, 0},
		{"10", 0, 10},
		{"65535", 0, 65535},
		{"65536", ERANGE},
		{"18446744073709551616", ERANGE},
		{"", EINVAL},
		{"00", EINVAL},
		{"01", EINVAL},
		{"0x1", EINVAL},
		{"+1", EINVAL},
		{"-1", EINVAL},
		{" 1", EINVAL},
		{"1 ", EINVAL},
		{"1\n2", EINVAL},
		{"1a", EINVAL},
		{"default", EINVAL},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		uint16_t id = 7;
		int rc = command_parse_evtset_id(cases[i].name, &id, &why);

		if (cases[i].no) {
			assert_refused(cases[i].name, rc, &why, cases[i].no, "65535");
			assert_null(strchr(why.text, '\n'));
		} else {
			assert_int_equal(rc, 0);
			assert_int_equal(id, cases[i].id);
		}
	}
}

TEST(evtset_flags)
{
	static const struct {
		const char *text;
		unsigned flags;
		const char *printed;
	} cases[] = {
		{"none", 0, "none\n"},
		{"ovfl_switch", SET_OVFL_SWITCH, "ovfl_switch\n"},
		{" time_switch\t", SET_TIME_SWITCH, "time_switch\n"},
		{"expl_next", SET_EXPL_NEXT, "expl_next\n"},
		{"expl_next time_switch", SET_TIME_SWITCH | SET_EXPL_NEXT,
			"time_switch expl_next\n"},
		{"ovfl_switch expl_next ovfl_switch", SET_OVFL_SWITCH | SET_EXPL_NEXT,
			"ovfl_switch expl_next\n"},
		{"excl_idle time_switch", SET_TIME_SWITCH | SET_EXCL_IDLE,
			"time_switch excl_idle\n"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct command cmd = {.evtset = {.id = 4, .flags = ~0u, .next = 5}};
		TEXT_CLEANUP struct text out = {0};

		assert_int_equal(
			command_parse_evtset_flags(slice_of(cases[i].text), &cmd.evtset, &why), 0);
		assert_int_equal(cmd.evtset.change, EVTSET_FLAGS);
		assert_int_equal(cmd.evtset.flags, cases[i].flags);
		assert_int_equal(cmd.evtset.id, 4);
		command_print_evtset_flags(&cmd, &out);
		assert_string_equal(out.p, cases[i].printed);
	}
}

TEST(evtset_timeout)
{
	static const struct {
		const char *text;
		uint64_t ns;
		const char *printed;
	} cases[] = {
		{"1", 1, "1\n"},
		{" 10000000 ", 10000000, "10000000\n"},
		{"0xf4240", 1000000, "1000000\n"},
		{"1000000000000000000", 1000000000000000000, "1000000000000000000\n"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct command cmd = {0};
		TEXT_CLEANUP struct text out = {0};

		assert_int_equal(
			command_parse_evtset_timeout(slice_of(cases[i].text), &cmd.evtset, &why),
			0);
		assert_int_equal(cmd.evtset.change, EVTSET_TIMEOUT);
		assert_int_equal(cmd.evtset.timeout_ns, cases[i].ns);
		command_print_evtset_timeout(&cmd, &out);
		assert_string_equal(out.p, cases[i].printed);
	}
}

TEST(evtset_next)
{
	static const struct {
		const char *text;
		bool has_next;
		unsigned next;
	} cases[] = {
		{"default", false, 0},
		{" default ", false, 0},
		{"0", true, 0},
		{"65535", true, 65535},
		{"0x10", true, 16},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct cmd_evtset set = {.next = 9, .has_next = !cases[i].has_next};

		assert_int_equal(command_parse_evtset_next(slice_of(cases[i].text), &set, &why), 0);
		assert_int_equal(set.change, EVTSET_NEXT);
		assert_int_equal(set.has_next, cases[i].has_next);
		assert_int_equal(set.next, cases[i].next);
	}
}

TEST(evtset_errors)
{
	static const struct {
		int (*parse)(struct slice text, struct cmd_evtset *set, struct err *e);
		const char *text;
		int no;
		const char *word;
	} cases[] = {
		{command_parse_evtset_flags, "", EINVAL, "'none'"},
		{command_parse_evtset_flags, "none expl_next", EINVAL, "other flags"},
		{command_parse_evtset_flags, "expl_next none", EINVAL, "'none'"},
		{command_parse_evtset_flags, "ovfl_switch time_switch", EINVAL, "not both"},
		{command_parse_evtset_flags, "time_switch expl_next ovfl_switch", EINVAL,
			"not both"},
		{command_parse_evtset_flags, "system_wide", EINVAL,
			"write words from 'ovfl_switch time_switch expl_next excl_idle', or "
			"'none'"},
		{command_parse_evtset_timeout, "", EINVAL, "number"},
		{command_parse_evtset_timeout, "0", EINVAL, "leave time_switch out"},
		{command_parse_evtset_timeout, "-1", EINVAL, "'-1'"},
		{command_parse_evtset_timeout, "1ms", EINVAL, "'1ms'"},
		{command_parse_evtset_timeout, "1 2", EINVAL, "'1 2'"},
		{command_parse_evtset_timeout, "1000000000000000001", ERANGE, "limit"},
		{command_parse_evtset_timeout, "18446744073709551616", ERANGE, "64 bits"},
		{command_parse_evtset_next, "", EINVAL, "'default'"},
		{command_parse_evtset_next, "none", EINVAL, "'default'"},
		{command_parse_evtset_next, "Default", EINVAL, "'Default'"},
		{command_parse_evtset_next, "default 1", EINVAL, "'default 1'"},
		{command_parse_evtset_next, "-1", EINVAL, "'-1'"},
		{command_parse_evtset_next, "65536", ERANGE, "65535"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct cmd_evtset set = {0};
		struct err e;
		int rc = cases[i].parse(slice_of(cases[i].text), &set, &e);

		assert_refused(cases[i].text, rc, &e, cases[i].no, cases[i].word);
	}
}

static void assert_prints(void print(const struct command *cmd, struct text *out),
	const struct command *cmd, const char *printed)
{
	TEXT_CLEANUP struct text out = {0};

	print(cmd, &out);
	assert_string_equal(out.p, printed);
}

/* The properties of an unused set, and of one that has all of them. */
TEST(evtset_answers)
{
	struct command none = {.evtset = {.next = 3}};
	struct command full = {.evtset = {.flags = SET_EXPL_NEXT,
				       .next = 65535,
				       .runs = UINT64_MAX,
				       .active_ns = UINT64_MAX - 1,
				       .remaining_ns = UINT64_MAX - 2,
				       .switch_pmds = regset("63,64,319"),
				       .pmcs = regset("0,1,2,3,16"),
				       .pmds = regset("0,2,3")}};

	assert_prints(command_print_evtset_timeout, &none, "0\n");
	assert_prints(command_print_evtset_next, &none, "default\n");
	assert_prints(command_print_evtset_runs, &none, "0\n");
	assert_prints(command_print_evtset_active_ns, &none, "0\n");
	assert_prints(command_print_evtset_remaining_ns, &none, "0\n");
	assert_prints(command_print_evtset_switch_pmds, &none, "none\n");
	assert_prints(command_print_evtset_available, &none, "pmcs none\npmds none\n");
	assert_prints(command_print_evtset_next, &full, "65535\n");
	assert_prints(command_print_evtset_runs, &full, "18446744073709551615\n");
	assert_prints(command_print_evtset_active_ns, &full, "18446744073709551614\n");
	assert_prints(command_print_evtset_remaining_ns, &full, "18446744073709551613\n");
	assert_prints(command_print_evtset_switch_pmds, &full, "63-64,319\n");
	assert_prints(command_print_evtset_available, &full, "pmcs 0-3,16\npmds 0,2-3\n");
}

TEST(events)
{
	static const struct pfm_msg msgs[] = {
		{.type = PFM_MSG_OVFL, .cpu = 1, .set = 0, .pmds = {0x11}},
		{.type = PFM_MSG_THROTTLE, .cpu = 65535, .set = 65535, .pmds = {[3] = 1ULL << 63}},
		{.type = PFM_MSG_OVFL,
			.pid = 5,
			.tid = 6,
			.ip = 7,
			.pmds = {1, [4] = PFM_MSG_EARLIER}},
		{.type = PFM_MSG_OVFL, .pmds = {[0] = 1ULL << 63, [1] = 3}},
		{.type = PFM_MSG_OVFL, .pid = 5, .tid = 6, .ip = 7},
		{.type = PFM_MSG_OVFL, .pid = 5, .tid = 6},
		{.type = PFM_MSG_THROTTLE, .ip = UINT64_MAX},
		{.type = PFM_MSG_LOST, .count = UINT64_MAX},
		{.type = PFM_MSG_COUNT_LOST, .cpu = 2, .set = 3, .pid = 5, .tid = 6, .pmds = {3}},
		{.type = PFM_MSG_GAP, .cpu = 2, .set = 3, .pid = 5, .tid = 6, .pmds = {3}},
		{.type = PFM_MSG_END, .cpu = 1},
		{.type = PFM_MSG_END, .cpu = 1, .pid = 5, .tid = UINT32_MAX},
		{.type = 0},
		{.type = 0xfffffffe},
	};
	TEXT_CLEANUP struct text out = {0};

	command_print_events(msgs, COUNT(msgs), &out);
	assert_string_equal(out.p, "overflow cpu=1 set=0 pmds=0,4\n"
				   "throttle cpu=65535 set=65535 pmds=255\n"
				   "overflow cpu=0 set=0 pmds=0 pid=5 tid=6 earlier_ip=0x7\n"
				   "overflow cpu=0 set=0 pmds=63-65\n"
				   "overflow cpu=0 set=0 pmds=none pid=5 tid=6 ip=0x7\n"
				   "overflow cpu=0 set=0 pmds=none pid=5 tid=6\n"
				   "throttle cpu=0 set=0 pmds=none ip=0xffffffffffffffff\n"
				   "lost count=18446744073709551615\n"
				   "count_lost cpu=2 set=3 pmds=0-1 pid=5 tid=6\n"
				   "gap cpu=2 set=3 pmds=0-1 pid=5 tid=6\n"
				   "end\n"
				   "end pid=5 tid=4294967295\n"
				   "type=0x0\n"
				   "type=0xfffffffe\n");
}
