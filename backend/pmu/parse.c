// SPDX-License-Identifier: MIT
/*
 * The text form of a description. Each line describes one item; "#" starts a comment, empty lines
 * are skipped, numbers are decimal or 0x hex, keys are in any order, [] is optional:
 *
 *   pmu NAME TITLE...             one word, then free text
 *   space SPACE                   where the registers are: msr (the default), or ipf: registers of
 *                                 Itanium, which only the simulator has
 *   detect vendor=intel|amd version=N [max_version=N] [family=LIST [models=LIST]] [bare]
 *                                 the CPUs that have this PMU. version is from CPUID leaf 0xA; on
 *                                 AMD, 1: PerfCtrExtCore, 2: PerfMonV2 (leaf 0x80000022), 0:
 *                                 neither. bare: not under a hypervisor, which may lack its
 *                                 registers
 *   features version=N gp=N gp_width=N [fixed=BITS fixed_width=N] [full_width] [l3=N] [df=N]
 *            [umc=N] [umcs=N]     what CPUID reports, for --pmu=NAME and the simulator; for version
 *                                 0, for an actual CPU, too
 *   atom version=N gp=N gp_width=N [fixed=BITS fixed_width=N] [full_width]
 *                                 the features of a hybrid processor's smaller cores: the second
 *                                 half of the simulator's CPUs
 *   rate N                        upper limit of events per second of any counter
 *   global ctrl=ADDR [inuse=ADDR] [status=ADDR clear=ADDR]
 *   pmc NUM NAME addr=ADDR default=BITS reserved=BITS enable=BITS kernel=BITS [user=BITS]
 *                [wide=BITS [node]] [gate=NUM] [restricts] [with=NUM] [busy=BITS] [latched=BITS]
 *                [shared] [of=OF] [scope=SCOPE] [escr=BITS:NUM,...] [ovf=BITS] [second=BITS]
 *   pmd NUM NAME addr=ADDR [waddr=ADDR] [full=ADDR] width=N wmask=BITS pmc=NUM [field=BITS]
 *                [global=BIT] [rdpmc=INDEX] [buffer] [of=OF] [scope=SCOPE] [twice]
 *   require NUM:BITS...           at least one of these bits of these PMCs, at most three, must be
 *                                 1; with ipf
 *   constraint PMCS EVENT...      only the PMCs of the list PMCS can count these events. EVENT is
 *                                 a code in bits 7:0, or a range FIRST-LAST of codes, with any unit
 *                                 mask; or, over 0xff, bits 15:0 with that unit mask. The first
 *                                 EVENT that fits decides. PMCs that are shared or have a scope=
 *                                 have their own events, which have no constraints
 *   virtual NUM NAME file=PATH    a number in a file; NUM is 272 or greater
 *   free NAME addr=ADDR width=N [shift=N] [valid=BITS] unit=UNIT scope=SCOPE
 *                                 a free-running register, which is only read
 *   sim NAME COUNTERS...          a processor that the simulator has: its name, a summary of its
 *   cpuid signature=N max_leaf=N [max_ext=N] selector=BITS    counters, and its CPUID; selector=
 *                                 are the bits that an event select has. With ipf, there is no
 *                                 cpuid and no detect
 *
 * NUM are logical numbers in rising order; gate=, with= and pmc= refer to lines above. N-M instead
 * of NUM is an array: element i is named NAMEi, and addr=, waddr=, full=, gate=, pmc=, field=,
 * global= and rdpmc= may be VALUE+STEP, which adds i times STEP, or VALUE<<STEP, which shifts.
 *
 * OF is gp, fixed, l3, df or umc: element i exists if the CPU has counter i of that kind: general
 * purpose, fixed, or AMD's last-level cache, data fabric or memory controllers. A single register
 * exists if the CPU has any such counter. If the memory controllers, whose number is umcs=, have
 * more than 32 counters together, only the first ones of each exist. Without width=, CPUID gives
 * the width. A shared PMC with of= keeps the bits in field= of its PMDs; its other bits are
 * reserved. full= is the address to write completely, if the CPU has full-width writes. SCOPE is
 * thread, core, ccx or package: the CPUs that share the register. A counter has the scope of its
 * PMC.
 *
 * UNIT is ticks, events, degrees, rapl, rapl_atom, rapl_16, rapl_0 or rapl_amd: enum pmu_unit.
 * valid= are bits that must be set; otherwise the register has no value. free.pmu has lines "free"
 * for all processors, which end with the conditions under which a processor has the register.
 *
 * escr= makes a PMC a CCCR of NetBurst: value i of its bits BITS chooses the i-th of the PMCs NUM
 * above; "-" is none. ovf= are the bits that the CPU sets when the counter wraps. second= are the
 * bits for the second thread of a core that correspond to kernel= and user=, in this order. twice:
 * each write of the counter is done twice.
 *
 * perfmonfs/pmu.h explains the other fields. A text that pmu_parse() accepts also passes
 * pmu_validate().
 */
#include "backend/pmu/parse_i.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *word;
	int (*parse)(struct parse *p, struct slice line, struct err *e);
	bool once;
} parse_kinds[] = {
	[LINE_PMU] = {"pmu", parse_pmu, true},
	[LINE_SPACE] = {"space", parse_space, true},
	[LINE_DETECT] = {"detect", parse_detect, true},
	[LINE_FEATURES] = {"features", parse_features, true},
	[LINE_ATOM] = {"atom", parse_atom, true},
	[LINE_RATE] = {"rate", parse_rate, true},
	[LINE_GLOBAL] = {"global", parse_global, true},
	[LINE_PMC] = {"pmc", parse_pmc, false},
	[LINE_PMD] = {"pmd", parse_pmd, false},
	[LINE_REQUIRE] = {"require", parse_require, false},
	[LINE_CONSTRAINT] = {"constraint", parse_constraint, false},
	[LINE_VIRTUAL] = {"virtual", parse_virtual, false},
	[LINE_FREE] = {"free", parse_free, false},
	[LINE_SIM] = {"sim", parse_sim, true},
	[LINE_CPUID] = {"cpuid", parse_cpuid, true},
};

static int parse_line(struct parse *p, struct slice line, struct err *e)
{
	struct slice word = slice_word(&line);

	if (!word.n)
		return 0;
	for (unsigned i = 0; i < LINE_KINDS; i++) {
		if (!slice_is(word, parse_kinds[i].word))
			continue;
		if (parse_kinds[i].once && p->first_line[i])
			return err_set(e, EINVAL, "a second line '%s' after line %u: leave one out",
				parse_kinds[i].word, p->first_line[i]);
		if (!p->first_line[i])
			p->first_line[i] = p->line;
		return parse_kinds[i].parse(p, line, e);
	}
	return err_set(e, EINVAL,
		"a line begins with pmu, space, detect, features, atom, rate, global, pmc, pmd, "
		"require, constraint, virtual, free, sim or cpuid, not with '%.*s'",
		SLICE_ARG(word));
}

/* Mistakes found so far, and their receiver. */
struct mistakes {
	pmu_tell *tell; /* NULL: the first mistake ends the parsing. */
	void *arg;
	unsigned n;
	struct err first;
};

static void parse_mistake(struct mistakes *m, unsigned line, const struct err *e)
{
	if (m->tell)
		m->tell(m->arg, line, e->text);
	if (m->n++ > 0)
		return;
	m->first = *e;
	err_prefix(&m->first, "line %u", line);
}

static bool parse_goes_on(const struct mistakes *m)
{
	return m->tell || !m->n;
}

/* Refuses what editors leave in files that are not plain text; sets @line to the place. */
static int parse_check_text(struct slice text, unsigned *line, struct err *e)
{
	*line = 1;
	if (slice_starts(text, "\xef\xbb\xbf"))
		return err_set(e, EINVAL,
			"the file begins with a byte order mark: save it as UTF-8 without one");
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\0')
			return err_set(e, EINVAL,
				"the line has a NUL character: save the file as plain text, in "
				"UTF-8");
		if (text.p[i] == '\r')
			return err_set(e, EINVAL,
				"a carriage return ends the line: save the file with Unix line "
				"ends, as by sed -i 's/\\r$//'");
		*line += text.p[i] == '\n';
	}
	return 0;
}

/* Checks that lines about CPUID go with MSRs, since both belong to x86. Sets @line to the mistake's
 * line. */
static int parse_check_processor(const struct parse *p, unsigned *line, struct err *e)
{
	const unsigned *at = p->first_line;

	if (p->pmu.space == PMU_SPACE_IPF && (at[LINE_DETECT] || at[LINE_CPUID])) {
		*line = at[LINE_DETECT] ? at[LINE_DETECT] : at[LINE_CPUID];
		return err_set(e, EINVAL,
			"space ipf: an Itanium has no x86 CPUID: leave out detect and cpuid");
	}
	*line = at[LINE_SIM];
	if (p->pmu.space != PMU_SPACE_IPF && at[LINE_SIM] && !at[LINE_CPUID])
		return err_set(e, EINVAL,
			"sim: its CPUID is missing: write a line 'cpuid signature=N max_leaf=N "
			"selector=BITS', too");
	*line = at[LINE_CPUID];
	if (at[LINE_CPUID] && !at[LINE_SIM])
		return err_set(e, EINVAL,
			"cpuid: it is for a simulated processor: write a line 'sim NAME COUNTERS', "
			"too, or leave it out");
	return 0;
}

static void parse_lines(struct parse *p, struct slice text, struct mistakes *m)
{
	unsigned at;
	struct err e;

	pmu_add_virtuals(&p->pmu);
	if (parse_check_text(text, &at, &e) < 0) {
		parse_mistake(m, at, &e);
		return;
	}
	while (text.n && parse_goes_on(m)) {
		struct slice line = slice_cut(&text, '\n');
		int rc;

		p->line++;
		rc = parse_line(p, slice_cut(&line, '#'), &e);
		if (rc < 0 && rc != -ECANCELED)
			parse_mistake(m, p->line, &e);
	}
	if (parse_goes_on(m) && parse_check_processor(p, &at, &e) < 0)
		parse_mistake(m, at, &e);
	parse_trim(p);
	pmu_add_arch_events(&p->model, p->features ? p->features->no_events : 0, &p->pmu);
	p->model.space = p->pmu.space;
	memcpy(p->model.name, p->pmu.name, PMU_NAME);
	memcpy(p->model.title, p->pmu.model, PMU_MODEL);
}

static struct parse parse_begin(struct slice text, const struct pmu_features *f)
{
	return (struct parse){
		.pmu = {.space = PMU_SPACE_MSR, .counter_width = 64},
		.model = {.text = text},
		.features = f,
	};
}

int pmu_parse_model(struct slice text, const struct pmu_features *f, struct pmu *pmu,
	struct pmu_model *model, struct err *e)
{
	struct parse p = parse_begin(text, f);
	struct mistakes m = {0};

	parse_lines(&p, text, &m);
	if (m.n)
		return err_copy(e, &m.first);
	*pmu = p.pmu;
	if (model)
		*model = p.model;
	return 0;
}

struct check {
	const struct parse *p;
	struct mistakes *m;
	bool whole;    /* All lines were parsed, so anything missing is a mistake. */
	unsigned last; /* Number of the line of the last mistake in a row. */
};

/* Reports a mistake in a row. For an array of registers, only the first mistake is reported. */
static bool parse_check_row(void *arg, enum pmu_part part, unsigned row, const struct err *e)
{
	struct check *c = arg;
	const struct parse *p = c->p;
	const unsigned *first = p->first_line;
	const unsigned lines[] = {
		[PMU_PART_WHOLE] = first[LINE_PMU] ? first[LINE_PMU] : 1,
		[PMU_PART_GLOBAL] = first[LINE_GLOBAL],
		[PMU_PART_PMC] = p->pmc_line[row],
		[PMU_PART_PMD] = p->pmd_line[row],
		[PMU_PART_VIRTUAL] = p->virtual_line[row < PMU_MAX_VIRTUALS ? row : 0],
		[PMU_PART_FREE] = p->free_line[row < PMU_MAX_FREES ? row : 0],
	};

	if (part == PMU_PART_WHOLE ? c->whole : lines[part] != c->last)
		parse_mistake(c->m, lines[part], e);
	if (part != PMU_PART_WHOLE)
		c->last = lines[part];
	return parse_goes_on(c->m);
}

/* Clears the PMDs' global bits if the line "global" has a mistake, so that they are not reported as
 * mistakes. */
static void parse_forget_global(struct parse *p)
{
	if (p->first_line[LINE_GLOBAL] && !p->pmu.global_ctrl)
		for (unsigned i = 0; i < p->pmu.npmds; i++)
			p->pmu.pmds[i].global = -1;
}

static void parse_check(struct parse *p, struct slice text, struct mistakes *m)
{
	struct check c = {.p = p, .m = m};

	parse_lines(p, text, m);
	if (!parse_goes_on(m))
		return;
	c.whole = !m->n;
	parse_forget_global(p);
	pmu_validate_all(&p->pmu, parse_check_row, &c);
}

unsigned pmu_parse_check(struct slice text, pmu_tell *tell, void *arg)
{
	struct parse p = parse_begin(text, NULL);
	struct mistakes m = {.tell = tell, .arg = arg};

	parse_check(&p, text, &m);
	return m.n;
}

int pmu_parse(struct slice text, struct pmu *pmu, struct err *e)
{
	struct parse p = parse_begin(text, NULL);
	struct mistakes m = {0};

	parse_check(&p, text, &m);
	if (m.n)
		return err_copy(e, &m.first);
	*pmu = p.pmu;
	return 0;
}
