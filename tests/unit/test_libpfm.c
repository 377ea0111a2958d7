// SPDX-License-Identifier: MIT
/*
 * Every event that this machine's libpfm4 knows of a PMU, with each of its unit masks, against the
 * PMU's description: a counter that pfm offers for it counts it.
 */
#include "backend/pmu/catalog.h"
#include "base/text.h"
#include "tests/unit/pfm_pmus.h"
#include "tests/unit/unit.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/events/libpfm.h"

#if __has_include(<perfmon/pfmlib.h>)
#include <perfmon/pfmlib.h>

/* The description for libpfm4's names that begin so; those of CPUs without one have a general one.
 */
static const struct {
	const char *pmu, *description;
} walked[] = {{"core", "core2"}, {"nhm_ex", "nehalem_ex"}, {"nhm", "nehalem"}, {"wsm", "westmere"},
	{"snb", "sandybridge"}, {"ivb", "ivybridge"}, {"hsw", "haswell"}, {"bdw", "broadwell"},
	{"skl", "skylake"}, {"skx", "skylake"}, {"clx", "skylake"}, {"icl", "icelake"},
	{"icx", "icelake"}, {"spr", "sapphirerapids"}, {"emr", "sapphirerapids"},
	{"gnr", "graniterapids"}, {"srf", "sierraforest"}, {"amd64_k7", "k7"}, {"amd64_k8", "k8"},
	{"amd64_fam10h", "fam10h"}, {"amd64_fam15h", "amd64_ext"}, {"amd64_fam17h", "zen"},
	{"amd64_fam19h_zen3", "zen3"}, {"amd64_fam19h_zen4", "zen4"}, {"amd64_fam1ah", "zen5"},
	{"amd64", "amd64"}, {"", "intel_arch_v5"}};

static const char *description_of(const char *pmu)
{
	unsigned i = 0;

	while (strncmp(pmu, walked[i].pmu, strlen(walked[i].pmu)) != 0)
		i++;
	return walked[i].description;
}

/* What fixed counters 0 to 3 count, by libpfm4's names without the PMU. NULL ends a list. */
static const char *const fixed_names[4][5] = {{"INST_RETIRED:ANY", "INST_RETIRED:PREC_DIST"},
	{"CPU_CLK_UNHALTED:THREAD", "CPU_CLK_UNHALTED:CORE"},
	{"UNHALTED_REFERENCE_CYCLES", "CPU_CLK_UNHALTED:REF_TSC"},
	{"TOPDOWN:SLOTS", "TOPDOWN_M:SLOTS"}};

/* Names whose meaning is architectural, and the event that counts it on Intel's CPUs. */
static const struct {
	const char *name;
	uint64_t code;
} architectural[] = {{"INST_RETIRED:ANY", 0x00c0}, {"INST_RETIRED:ANY_P", 0x00c0},
	{"INSTRUCTION_RETIRED", 0x00c0}, {"INSTRUCTIONS_RETIRED", 0x00c0},
	{"CPU_CLK_UNHALTED:THREAD", 0x003c}, {"CPU_CLK_UNHALTED:THREAD_P", 0x003c},
	{"CPU_CLK_UNHALTED:CORE", 0x003c}, {"CPU_CLK_UNHALTED:CORE_P", 0x003c},
	{"UNHALTED_CORE_CYCLES", 0x003c}, {"CPU_CLK_UNHALTED:REF_TSC", 0x0300},
	{"UNHALTED_REFERENCE_CYCLES", 0x0300}, {"CPU_CLK_UNHALTED:REF", 0x013c}};

static bool is_named(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/* The files of pmu/ that a tree with this description has. */
static void print_rows(const struct pmu *pmu, struct text *pmcs, struct text *pmds)
{
	for (const struct pmu_pmc *p = pmu->pmcs; p < pmu->pmcs + pmu->npmcs; p++)
		text_printf(pmcs, "%u %s %s 0x%x 0x%" PRIx64 " 0x%" PRIx64 " %s\n", p->num, p->name,
			pmu_reg_type(pmu, p->addr), pmu_reg_index(pmu, p->addr), p->def, p->rsvd,
			pmu_scope_word(p->scope));
	for (const struct pmu_pmd *d = pmu->pmds; d < pmu->pmds + pmu->npmds; d++)
		text_printf(pmds, "%u %s %s 0x%x 0x0 0x0 %s %s\n", d->num, d->name,
			pmu_reg_type(pmu, d->addr), pmu_reg_index(pmu, d->addr),
			pmu_scope_word(d->scope), d->buffer ? "buffer" : "");
}

struct walk {
	struct pfm_pmu pmu;
	const char *prefix; /* libpfm4's name of the PMU */
	bool umasks;        /* of the event that is walked */
	unsigned taken, refused;
};

static struct walk walk_begin(const char *prefix)
{
	struct walk w = {.prefix = prefix};
	struct text pmcs = {0}, pmds = {0};
	struct pfm_cpu cpu = {ARCH_NONE, -1, -1, false};
	struct pfm_pmu_text text;
	struct pmu pmu;
	struct err e = {0};

	if (pmu_load(description_of(prefix), &pmu, &e) < 0)
		fail_msg("%s", e.text);
	print_rows(&pmu, &pmcs, &pmds);
	text = pfm_pmus_text(pmu.name, "sim", pmcs.p, pmds.p);
	text.model = slice_of(pmu.model);
	if (pfm_pmu_parse(&text, &cpu, &w.pmu, &e) < 0)
		fail_msg("%s: %s", prefix, e.text);
	text_free(&pmcs);
	text_free(&pmds);
	return w;
}

static void check_fixed(const char *name, int fixed)
{
	const char *event = strstr(name, "::") + 2;

	if (fixed > 3 || !is_named(fixed_names[fixed], event))
		fail_msg("%s: counted by fixed counter %d", name, fixed);
}

/* Each of the event's counters counts what libpfm4's @name says. */
static void check_taken(const struct walk *w, const char *name, const struct pfm_event *event)
{
	bool intel = w->pmu.cpu.encoding == ARCH_INTEL;

	assert_int_not_equal(event->counters, 0);
	for (unsigned i = 0; i < w->pmu.ncounters; i++) {
		int fixed = w->pmu.counters[i].fixed;

		if (!(event->counters >> i & 1))
			continue;
		if (fixed >= 0 && !(event->code & 0xff))
			check_fixed(name, fixed);
		if (fixed < 0 && intel && !(event->code & 0xff))
			fail_msg("%s: a select of nothing, 0x%" PRIx64, name, event->code);
	}
	for (unsigned i = 0; intel && i < COUNT(architectural); i++) {
		uint64_t code = architectural[i].code;

		if (strcmp(strstr(name, "::") + 2, architectural[i].name) == 0 &&
			event->code != code && event->code != (code == 0x3c ? 0x0200 : code) &&
			event->code != (code == 0xc0 ? 0x0100 : code))
			fail_msg("%s: code 0x%" PRIx64, name, event->code);
	}
}

static void walk_event(void *arg, const char *name, const char *desc)
{
	struct walk *w = arg;
	struct pfm_event event;
	struct err e = {0};

	(void)desc;
	if (event_resolve(&w->pmu, name, &event, &e) == 0) {
		check_taken(w, name, &event);
		w->taken++;
		return;
	}
	if (!e.text[0])
		fail_msg("%s: refused without a sentence", name);
	w->refused++;
}

/* NetBurst's events need registers that libpfm4 does not name: pfm has those of its event files. */
static bool is_walked(const pfm_pmu_info_t *info)
{
	return info->type == PFM_PMU_TYPE_CORE && strncmp(info->name, "netburst", 8) != 0 &&
	       strncmp(info->name, "perf", 4) != 0;
}

TEST(every_event)
{
	unsigned pmus = 0;
	struct event_code code;

	/* The first name initializes libpfm4 as pfm does it. */
	assert_int_equal(
		libpfm_encode(ARCH_NONE, slice_of("none::NONE"), &code, &why), -ENOENT);
	for (int p = 0; p < PFM_PMU_MAX; p++) {
		pfm_pmu_info_t info = {.size = sizeof(info)};
		struct walk w;

		if (pfm_get_pmu_info((pfm_pmu_t)p, &info) != PFM_SUCCESS || !is_walked(&info))
			continue;
		w = walk_begin(info.name);
		libpfm_each(slice_of(info.name), walk_event, walk_event, &w);
		print_message("%s: %u events, %u refused\n", info.name, w.taken, w.refused);
		if (!w.taken && w.refused)
			fail_msg("%s: no event of it is taken", info.name);
		pfm_pmu_free(&w.pmu);
		pmus++;
	}
	assert_int_not_equal(pmus, 0);
}

#else

TEST(every_event)
{
	print_message("libpfm4 was not there when the tests were built\n");
	skip();
}

#endif
