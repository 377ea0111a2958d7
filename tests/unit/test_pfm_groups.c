// SPDX-License-Identifier: MIT
/* Formulas and group files. */
// cmocka.h needs these first.
#include <math.h>

#include "tests/unit/pfm_pmus.h"
#include "tests/unit/unit.h"
#include "tools/pfm/events/data_files.h"
#include "tools/pfm/events/event_file.h"
#include "tools/pfm/events/group.h"
#include "tools/pfm/events/libpfm.h"

/* Values a, b-c and z. */
static const double values[] = {12, 4, 0};

static int find(const void *arg, struct slice name)
{
	(void)arg;
	return slice_is(name, "a") ? 0 : slice_is(name, "b-c") ? 1 : slice_is(name, "z") ? 2 : -1;
}

static double evaluated(const char *text)
{
	struct formula f;
	struct err e = {0};

	if (formula_parse(slice_of(text), find, NULL, &f, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return formula_eval(&f, values, 2);
}

static void evaluates(const char *text, double wanted)
{
	double v = evaluated(text);

	if (fabs(v - wanted) > 1e-12)
		fail_msg("%s is %g, not %g", text, v, wanted);
}

TEST(formulas)
{
	evaluates("a", 12);
	evaluates("a - b-c", 8);
	evaluates("a -b-c", 8);
	evaluates("a + b-c * 2", 20);
	evaluates("(a + b-c) * 2", 32);
	evaluates("a / b-c / 3", 1);
	evaluates("a - 1 - 1", 10);
	evaluates("1.5*a", 18);
	evaluates("0.001 * 1000", 1);
	evaluates("a/seconds", 6);
	evaluates("  ( ( 7 ) )  ", 7);
	evaluates("z / a", 0);
	evaluates("18446744073709551615", 18446744073709551615.0);
}

/* No number, which is shown as "-". */
TEST(no_value)
{
	static const double lost[] = {NAN, 4, 0};
	struct formula f;

	assert_true(isnan(evaluated("a / z")));
	assert_true(isnan(evaluated("z / z")));
	assert_true(isnan(evaluated("1 - a / z")));
	assert_int_equal(formula_parse(slice_of("a * 0"), find, NULL, &f, &why), 0);
	assert_true(isnan(formula_eval(&f, lost, 1)));
	assert_int_equal(formula_parse(slice_of("b-c / seconds"), find, NULL, &f, &why), 0);
	assert_true(isnan(formula_eval(&f, lost, 0)));
	assert_true(isnan(formula_eval(&f, lost, NAN)));
}

TEST(formulas_refused)
{
	static const char *const wrong[] = {"", "a +", "+ a", "- a", "(a", "a)", "a a", "q", "a-z",
		"2x", "1.2.3", "a ^ 2", "()", "1e6", "a * / z", ".5"};
	struct formula f;
	char deep[100];

	for (unsigned i = 0; i < COUNT(wrong); i++)
		if (formula_parse(slice_of(wrong[i]), find, NULL, &f, &why) != -EINVAL)
			fail_msg("%s is accepted", wrong[i]);
	memset(deep, '(', sizeof(deep));
	assert_int_equal(
		formula_parse((struct slice){deep, sizeof(deep)}, find, NULL, &f, &why), -EINVAL);
	for (unsigned i = 0; i < sizeof(deep); i++)
		deep[i] = i % 2 ? '+' : 'a';
	assert_int_equal(
		formula_parse((struct slice){deep, sizeof(deep) - 1}, find, NULL, &f, &why),
		-EINVAL);
}

static int parse(struct group_list *list, const char *text, struct err *e)
{
	return group_parse(slice_of(text), "f.group", list, e);
}

static void refused(const char *text, const char *noun)
{
	struct group_list list = {0};
	struct err e = {0};

	assert_int_equal(parse(&list, text, &e), -EINVAL);
	if (!strstr(e.text, noun))
		fail_msg("%s lacks %s", e.text, noun);
	group_free(&list);
}

TEST(group_file)
{
	struct group_list list = {0};
	struct err e = {0};
	const struct group *g;

	if (parse(&list,
		    "# comment\ngroup one  the first \nevent instructions\nevent slow = r01c0:u\n"
		    "metric IPC [1/cycle] = instructions / slow ; what it is # comment\n"
		    "metric rate = slow / seconds\n\ngroup two\n",
		    &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(list.n, 2);
	g = &list.groups[0];
	assert_string_equal(g->name, "one");
	assert_string_equal(g->desc, "the first");
	assert_int_equal(g->nevents, 2);
	assert_string_equal(g->events[0].text, "instructions");
	assert_string_equal(g->events[1].label, "slow");
	assert_string_equal(g->events[1].text, "r01c0:u");
	assert_int_equal(g->nmetrics, 2);
	assert_string_equal(g->metrics[0].unit, "1/cycle");
	assert_string_equal(g->metrics[0].desc, "what it is");
	assert_string_equal(g->metrics[0].text, "instructions / slow");
	assert_string_equal(g->metrics[1].unit, "");
	assert_int_equal(list.groups[1].nevents, 0);
	group_free(&list);
}

TEST(group_file_refused)
{
	refused("event a\n", "f.group:1");
	refused("group\n", "f.group:1");
	refused("group g\nevent\n", "f.group:2");
	refused("group g\nevent a =\n", "f.group:2");
	refused("group g\nevent a\nevent a = b\n", "already used");
	refused("group g\nevent seconds\n", "already used");
	refused("group g\nmetric m\n", "formula");
	refused("group g\nmetric m [] = 1\n", "UNIT");
	refused("group g\nmetric m x = 1\n", "UNIT");
	refused("group g\nevent a\nmetric m = b\n", "'b'");
	refused("group g\nmertic m = 1\n", "mertic");
}

TEST(group_find)
{
	static const struct pfm_cpu no_cpu = {ARCH_NONE, -1, -1, false};
	struct pfm_pmu_text text =
		pfm_pmus_text("intel_arch_v4", "sim", pfm_pmus_intel_pmcs, pfm_pmus_intel_pmds);
	struct pfm_event events[EVENT_MAX];
	struct group_list list = {0};
	const struct group *g;
	struct pfm_pmu pmu;
	struct err e = {0};

	assert_int_equal(pfm_pmu_parse(&text, &no_cpu, &pmu, &e), 0);
	assert_int_equal(parse(&list,
				 "group caches\nevent nothing-like-that\ngroup caches\nevent "
				 "cycles\ngroup only\nevent nothing-like-that\n",
				 &e),
		0);
	/* The first one whose events the PMU has */
	assert_int_equal(group_find(&list, &pmu, "caches", &g, events, &e), 0);
	assert_ptr_equal(g, &list.groups[1]);
	assert_int_equal(e.no, 0);
	assert_int_equal(events[0].code, 0x3c);
	assert_int_equal(group_find(&list, &pmu, "only", &g, events, &e), -ENOENT);
	assert_non_null(strstr(e.text, "nothing-like-that"));
	assert_int_equal(group_find(&list, &pmu, "cashes", &g, events, &e), -ENOENT);
	assert_non_null(strstr(e.text, "is it caches?"));
	group_free(&list);
	pfm_pmu_free(&pmu);
}

/* --- The groups with names of libpfm4 */

#define GROUPS SOURCE_ROOT "/tools/pfm/events/data"

/* What the first group of that name whose events @model has is encoded as. */
static const struct shipped {
	const char *model, *name;
	uint64_t codes[EVENT_MAX]; /* by the vendors' tables */
} shipped[] = {
	{"skl", "topdown", {0x3c, 0x019c, 0x010e, 0x02c2, 0x010d}},
	{"skx", "topdown", {0x3c, 0x019c, 0x010e, 0x02c2, 0x010d}},
	{"bdw", "topdown", {0x3c, 0x019c, 0x010e, 0x02c2, 0x100030d}},
	{"skl", "topdown-smt", {0x3c, 0x023c, 0x013c, 0x019c, 0x010e, 0x02c2, 0x010d}},
	{"skx", "topdown-smt", {0x3c, 0x023c, 0x013c, 0x019c, 0x010e, 0x02c2, 0x010d}},
	{"icl", "topdown", {0x01a4, 0x019c, 0x100d, 0x02a4, 0x02c2}},
	{"icx", "topdown", {0x01a4, 0x019c, 0x100d, 0x02a4, 0x02c2}},
	{"spr", "topdown", {0x01a4, 0x019c, 0x10ad, 0x02a4, 0x02c2}},
	{"skl", "topdown2",
		{0x3c, 0x019c, 0x400019c, 0x010e, 0x02c2, 0x010d, 0x00c5, 0x10401c3, 0x140014a3,
			0x40004a3, 0x40a6, 0x02a6, 0x04a6}},
	{"skx", "topdown2",
		{0x3c, 0x019c, 0x400019c, 0x010e, 0x02c2, 0x010d, 0x00c5, 0x10401c3, 0x140014a3,
			0x40004a3, 0x40a6, 0x02a6, 0x04a6}},
	{"icl", "topdown2",
		{0x01a4, 0x019c, 0x500019c, 0x100d, 0x02a4, 0x02c2, 0x00c5, 0x10401c3, 0x140014a3,
			0x40004a3, 0x20040a6, 0x02a6, 0x04a6}},
	{"icx", "topdown2",
		{0x01a4, 0x019c, 0x500019c, 0x100d, 0x02a4, 0x02c2, 0x00c5, 0x10401c3, 0x140014a3,
			0x40004a3, 0x20040a6, 0x02a6, 0x04a6}},
	{"spr", "topdown2", {0x01a4, 0x02a4, 0x10a4, 0x04a4, 0x08a4, 0x02c2, 0x01c2}},
	{"skl", "flops", {0xc0, 0x01c7, 0x04c7, 0x10c7, 0x40c7}},
	{"icx", "flops", {0xc0, 0x01c7, 0x04c7, 0x10c7, 0x40c7}},
	{"spr", "flops", {0xc0, 0x01c7, 0x04c7, 0x10c7, 0x40c7}},
	{"skx", "flops-single", {0xc0, 0x02c7, 0x08c7, 0x20c7, 0x80c7}},
	{"icl", "flops-single", {0xc0, 0x02c7, 0x08c7, 0x20c7, 0x80c7}},
	{"spr", "flops-single", {0xc0, 0x02c7, 0x08c7, 0x20c7, 0x80c7}},
	{"skl", "loads", {0xc0, 0x81d0, 0x08d1, 0x10d1, 0x20d1}},
	{"icx", "loads", {0xc0, 0x81d0, 0x08d1, 0x10d1, 0x20d1}},
	{"spr", "loads", {0xc0, 0x81d0, 0x08d1, 0x10d1, 0x20d1}},
	{"amd64_fam17h_zen2", "flops", {0xc0, 0x0f03}},
	{"amd64_fam19h_zen3", "flops", {0xc0, 0x0f03}},
	{"amd64_fam19h_zen4", "flops", {0xc0, 0x1f03}},
};

static int shipped_parse(
	void *arg, struct slice text, const char *path, const char *name, struct err *e)
{
	(void)name;
	return group_parse(text, path, arg, e);
}

/* An architectural event, or one of @model. */
static int shipped_encode(
	const struct pfm_pmu *pmu, const char *model, const char *text, uint64_t *code)
{
	struct pfm_event event;
	struct event_code found;
	char name[EVENT_TEXT * 2];
	int rc = event_resolve(pmu, text, &event, &why);

	*code = event.code;
	if (rc == 0)
		return 0;
	snprintf(name, sizeof(name), "%s::%s", model, text);
	rc = libpfm_encode(pmu->cpu.encoding, slice_of(name), &found, &why);
	*code = found.code;
	return rc;
}

/* False: @model lacks one of its events. */
static bool shipped_has(const struct group *g, const struct pfm_pmu *pmu, const char *model,
	uint64_t codes[EVENT_MAX])
{
	for (unsigned i = 0; i < g->nevents; i++)
		if (shipped_encode(pmu, model, g->events[i].text, &codes[i]) < 0)
			return false;
	return true;
}

static void shipped_check(const struct shipped *s, const struct group_list *list)
{
	bool amd = strncmp(s->model, "amd", 3) == 0;
	struct pfm_cpu cpu = {amd ? ARCH_AMD : ARCH_INTEL, -1, -1, false};
	struct pfm_pmu_text text =
		amd ? pfm_pmus_text("amd64_ext", "sim", pfm_pmus_amd_pmcs, pfm_pmus_amd_pmds)
		    : pfm_pmus_text(
			      "intel_arch_v4", "sim", pfm_pmus_intel_pmcs, pfm_pmus_intel_pmds);
	uint64_t codes[EVENT_MAX] = {0};
	bool found = false;
	struct pfm_pmu pmu;
	struct err e = {0};

	assert_int_equal(pfm_pmu_parse(&text, &cpu, &pmu, &e), 0);
	for (unsigned i = 0; i < list->n && !found; i++)
		found = strcmp(list->groups[i].name, s->name) == 0 &&
			shipped_has(&list->groups[i], &pmu, s->model, codes);
	if (!found)
		fail_msg("%s has no group %s", s->model, s->name);
	for (unsigned i = 0; i < EVENT_MAX; i++)
		if (codes[i] != s->codes[i])
			fail_msg("%s of %s: event %u is 0x%llx", s->name, s->model, i,
				(unsigned long long)codes[i]);
	pfm_pmu_free(&pmu);
}

TEST(groups_of_libpfm)
{
	struct group_list list = {0};
	struct err e = {0};

	if (!libpfm_version())
		skip();
	if (data_files_each(GROUPS, ".group", shipped_parse, &list, &e) < 0)
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < COUNT(shipped); i++)
		shipped_check(&shipped[i], &list);
	group_free(&list);
}

/* --- The groups of memory controllers */

static int memory_events(
	void *arg, struct slice text, const char *path, const char *name, struct err *e)
{
	return event_file_parse(text, path, name, arg, e);
}

/* The codes of the group's events, and its metrics of @counts in two seconds. */
static void memory_is(const struct group_list *list, const struct pfm_pmu *pmu, const char *name,
	const double counts[2], const uint64_t codes[2], const double *metrics, unsigned nmetrics)
{
	struct pfm_event events[EVENT_MAX];
	const struct group *g;
	struct err e = {0};

	if (group_find(list, pmu, name, &g, events, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(g->nevents, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(events[i].umc);
		assert_int_equal(events[i].code, codes[i]);
	}
	assert_int_equal(g->nmetrics, nmetrics);
	for (unsigned i = 0; i < nmetrics; i++)
		assert_true(
			fabs(formula_eval(&g->metrics[i].formula, counts, 2) - metrics[i]) < 1e-9);
}

TEST(groups_of_memory)
{
	static const struct pfm_cpu no_cpu = {ARCH_NONE, -1, -1, false};
	struct pfm_pmu_text text =
		pfm_pmus_text("zen4", "msr", pfm_pmus_umc_pmcs, pfm_pmus_umc_pmds);
	struct group_list list = {0};
	struct pfm_pmu pmu;
	struct err e = {0};

	text.model = slice_of("AMD64 Zen 4");
	assert_int_equal(pfm_pmu_parse(&text, &no_cpu, &pmu, &e), 0);
	if (data_files_each(GROUPS, ".events", memory_events, &pmu, &e) < 0 ||
		data_files_each(GROUPS, ".group", shipped_parse, &list, &e) < 0)
		fail_msg("%s", e.text);
	/* A CAS transfers 64 bytes: 1 and 3 million. */
	memory_is(&list, &pmu, "memory", (double[]){1000000, 3000000}, (uint64_t[]){0x10a, 0x20a},
		(double[]){32, 96, 128, 75}, 4);
	/* The bus is in use in 500 of 2000 half cycles. */
	memory_is(&list, &pmu, "memory-bus", (double[]){1000, 500}, (uint64_t[]){0, 0x14},
		(double[]){25}, 1);
	group_free(&list);
	pfm_pmu_free(&pmu);
}

/* --- The columns of pmcCount */

/* What the study prints for "pmcCount SUM ls"; MFLOPS at 1 MHz. */
static const struct column {
	const char *metric, *printed;
} columns[] = {
	{"IPC", "0.559751"},
	{"MFLOPS", "0.000002"},
	{"L1-hit-rate", "0.985110"},
	{"L2-hit-rate", "0.039523"},
	{"memory-per-flop", "209974.071429"},
	{"branch-rate", "0.198983"},
	{"branch-miss-rate", "0.049764"},
	{"TLB-miss-rate", "0.002687"},
};

/* It prints one count, the 14 operations: the others are some that give the same. */
TEST(pmccount)
{
	enum { CYCLES = 7000000 };
	static const double counts[EVENT_MAX] = {
		CYCLES, 3918257, 2939637, 43772, 42042, 14, 779666, 194988, 7899, 0};
	struct group_list list = {0};
	const struct group *g = NULL;
	struct err e = {0};
	char value[32];

	if (data_files_each(GROUPS, ".group", shipped_parse, &list, &e) < 0)
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < list.n && !g; i++)
		if (strcmp(list.groups[i].name, "pmccount") == 0)
			g = &list.groups[i];
	assert_non_null(g);
	for (unsigned i = 0; i < COUNT(columns); i++) {
		assert_string_equal(g->metrics[i].name, columns[i].metric);
		snprintf(value, sizeof(value), "%.6f",
			formula_eval(&g->metrics[i].formula, counts, CYCLES / 1e6));
		assert_string_equal(value, columns[i].printed);
	}
	group_free(&list);
}
