// SPDX-License-Identifier: MIT
/* Lines about registers. A line with a range of numbers describes an array of them. */
#include "backend/pmu/parse_i.h"

#include <errno.h>
#include <stdio.h>

#include "backend/pmu/key.h"
#include "backend/pmu/low_bits.h"
#include "base/num.h"

/* Values of of=: the kinds of counters in CPUID that the elements of an array correspond to. */
enum { OF_GP, OF_FIXED, OF_L3, OF_DF, OF_UMC };
static const char *const parse_of_words[] = {[OF_GP] = "gp",
	[OF_FIXED] = "fixed",
	[OF_L3] = "l3",
	[OF_DF] = "df",
	[OF_UMC] = "umc",
	NULL};

const char *const parse_scope_words[] = {[PMU_SCOPE_THREAD] = "thread",
	[PMU_SCOPE_CORE] = "core",
	[PMU_SCOPE_CCX] = "ccx",
	[PMU_SCOPE_PACKAGE] = "package",
	NULL};

/* The registers of a line: NUM or NUM-NUM, and the name. */
struct array {
	unsigned first, last;
	char name[PMU_NAME];
	uint64_t exists; /* Bit i: element i exists. */
	unsigned width;  /* Width of a counter from CPUID; 0 without of=. */
	unsigned each;   /* Counters per memory controller; 0: none, or not known. */
};

enum { ARRAY_MAX = 64, UMC_MAX = 32 /* Counters of memory controllers that exist. */ };

static int parse_array(struct slice *line, struct array *a, struct err *e)
{
	struct slice nums = slice_word(line);
	uint64_t first, last;
	int rc = num_range(&nums, PMU_MAX_NUM - 1, &first, &last, e);

	if (rc < 0)
		return err_prefix(e, "the register's number");
	if (nums.n)
		return err_set(e, EINVAL,
			"a line describes one register, or N-M, an array: divide it into several");
	*a = (struct array){.first = (unsigned)first, .last = (unsigned)last, .exists = UINT64_MAX};
	if (last - first >= ARRAY_MAX)
		return err_set(e, EINVAL,
			"the array has more than %d registers: divide it into several lines",
			ARRAY_MAX);
	return text_parse(
		slice_word(line), "register's name", "NUM NAME KEY=VALUE...", a->name, PMU_NAME, e);
}

static unsigned parse_umc_each(const struct pmu_features *f)
{
	return f->umcs ? f->umc / f->umcs : 0;
}

/* Which counters of memory controllers exist. All controllers have the same number; the counters of
 * a controller are consecutive. */
static uint64_t parse_of_umc(const struct pmu_features *f)
{
	unsigned each = parse_umc_each(f);
	unsigned most = each * f->umcs > UMC_MAX ? UMC_MAX / f->umcs : each;
	uint64_t exists = 0;

	if (!each)
		return pmu_low_bits(f->umc < UMC_MAX ? f->umc : UMC_MAX);
	for (unsigned i = 0; i < f->umcs; i++)
		exists |= pmu_low_bits(most) << i * each;
	return exists;
}

static uint64_t parse_of(const struct pmu_features *f, uint64_t of)
{
	switch (of) {
	case OF_FIXED:
		return f->fixed;
	case OF_L3:
		return pmu_low_bits(f->l3);
	case OF_DF:
		return pmu_low_bits(f->df);
	case OF_UMC:
		return parse_of_umc(f);
	default:
		return f->gp_map ? f->gp_map : pmu_low_bits(f->gp);
	}
}

/* Finds out which elements exist. On a line without a range, the element exists if any counter
 * does. */
static int parse_array_limit(
	const struct parse *p, struct array *a, const struct key *of, struct err *e)
{
	const struct pmu_features *f = p->features;

	if (!of->seen)
		return 0;
	if (!f)
		return err_set(e, EINVAL,
			"of=: there is no line 'features' above, which says how many there are: "
			"write one");
	a->exists = parse_of(f, of->value);
	a->width = of->value == OF_FIXED ? f->fixed_width : f->gp_width;
	a->each = of->value == OF_UMC ? parse_umc_each(f) : 0;
	/* Counts of some of the controllers would be mistaken for counts of all. */
	if (a->each && a->exists >> (a->last - a->first) > 1)
		return err_set(e, EINVAL,
			"of=umc: the last memory controller has counters behind %u: give an array "
			"of %d registers",
			a->last, ARRAY_MAX);
	if (a->first == a->last)
		a->exists = a->exists != 0;
	return 0;
}

/* A single register has the name as it is; an element of an array, with the element's number. */
static int parse_array_name(const struct array *a, unsigned i, char *name, struct err *e)
{
	int n = a->first == a->last ? snprintf(name, PMU_NAME, "%s", a->name)
				    : snprintf(name, PMU_NAME, "%s%u", a->name, i);

	if (n >= PMU_NAME)
		return err_set(e, EINVAL,
			"the name of %s%u is longer than %d characters: shorten it", a->name, i,
			PMU_NAME - 1);
	return 0;
}

int parse_global(struct parse *p, struct slice line, struct err *e)
{
	enum { CTRL, INUSE, STATUS, CLEAR, N };
	struct key keys[N] = {
		[CTRL] = {"ctrl", KEY_NUMBER, UINT32_MAX, true},
		[INUSE] = {"inuse", KEY_NUMBER, UINT32_MAX},
		[STATUS] = {"status", KEY_NUMBER, UINT32_MAX},
		[CLEAR] = {"clear", KEY_NUMBER, UINT32_MAX},
	};
	int rc = key_parse_line(line, keys, N, e);

	if (rc < 0)
		return rc;
	if (!keys[CTRL].value)
		return err_set(e, EINVAL,
			"ctrl=0 is not a register: write the address of the global control, or "
			"leave the line out");
	p->pmu.global_ctrl = (uint32_t)keys[CTRL].value;
	p->pmu.inuse = (uint32_t)keys[INUSE].value;
	p->pmu.status = (uint32_t)keys[STATUS].value;
	p->pmu.clear = (uint32_t)keys[CLEAR].value;
	return 0;
}

static int parse_find_pmc(
	const struct parse *p, const char *key, uint64_t num, uint16_t *row, struct err *e)
{
	int at = pmu_find_pmc(&p->pmu, (unsigned)num);

	if (at < 0 && p->lost[num])
		return err_set(e, ECANCELED, "the line of PMC %u has a mistake", (unsigned)num);
	if (at < 0)
		return err_set(e, EINVAL,
			"%s=%u: no line above describes this PMC: write its line above, or another "
			"number",
			key, (unsigned)num);
	*row = (uint16_t)at;
	return 0;
}

static int parse_find_above(
	const struct parse *p, const struct key *k, unsigned i, uint16_t *row, struct err *e)
{
	uint64_t num;
	int rc = key_at(k, i, &num, e);

	return rc < 0 ? rc : parse_find_pmc(p, k->name, num, row, e);
}

enum {
	PMC_ADDR,
	PMC_DEFAULT,
	PMC_RESERVED,
	PMC_ENABLE,
	PMC_KERNEL,
	PMC_USER,
	PMC_WIDE,
	PMC_NODE,
	PMC_GATE,
	PMC_RESTRICTS,
	PMC_WITH,
	PMC_BUSY,
	PMC_LATCHED,
	PMC_SHARED,
	PMC_OF,
	PMC_SCOPE,
	PMC_OVF,
	PMC_SECOND,
	PMC_ESCR,
	PMC_KEYS
};

/* Parses an element of LIST: a PMC's number, or "-". */
static int parse_escr(const struct parse *p, struct slice word, uint16_t *row, struct err *e)
{
	uint64_t num;

	*row = PMU_NO_ROW;
	if (slice_is(word, "-"))
		return 0;
	if (num_max(word, PMU_MAX_NUM - 1, &num, e) < 0)
		return err_prefix(e, "escr=");
	return parse_find_pmc(p, "escr", num, row, e);
}

/* Parses BITS:LIST. */
static int parse_escrs(
	const struct parse *p, const struct key *k, struct pmu_pmc *pmc, struct err *e)
{
	struct slice list = k->text;
	int rc = num_u64(slice_cut(&list, ':'), &pmc->escr_select, e);

	if (rc < 0)
		return err_prefix(e, "escr=");
	for (unsigned i = 0; i < PMU_ESCRS; i++)
		pmc->escr[i] = PMU_NO_ROW;
	for (unsigned i = 0; rc == 0 && list.n; i++)
		rc = i < PMU_ESCRS ? parse_escr(p, slice_cut(&list, ','), &pmc->escr[i], e)
				   : err_set(e, EINVAL,
					     "escr= chooses from %d PMCs at most: leave some out",
					     PMU_ESCRS);
	return rc;
}

static int parse_pmc_at(
	struct parse *p, const struct array *a, unsigned i, const struct key *k, struct err *e)
{
	struct pmu *pmu = &p->pmu;
	struct pmu_pmc pmc = {
		.num = (uint16_t)(a->first + i),
		.def = k[PMC_DEFAULT].value,
		.rsvd = k[PMC_RESERVED].value,
		.enable = k[PMC_ENABLE].value,
		.kernel = k[PMC_KERNEL].value,
		.user = k[PMC_USER].value,
		.wide = k[PMC_WIDE].value,
		.node = k[PMC_NODE].seen,
		.gate = pmu->npmcs,
		.restricts = k[PMC_RESTRICTS].seen,
		.busy = k[PMC_BUSY].value,
		.latched = k[PMC_LATCHED].value,
		.shared = k[PMC_SHARED].seen,
		.scope = (enum pmu_scope)k[PMC_SCOPE].value,
		.ovf = k[PMC_OVF].value,
		.second = k[PMC_SECOND].value,
	};
	uint64_t addr;
	int rc = key_at(&k[PMC_ADDR], i, &addr, e);

	if (rc == 0)
		rc = parse_array_name(a, i, pmc.name, e);
	if (rc == 0 && k[PMC_GATE].seen && k[PMC_GATE].value != pmc.num)
		rc = parse_find_above(p, &k[PMC_GATE], i, &pmc.gate, e);
	if (rc == 0 && k[PMC_ESCR].seen)
		rc = parse_escrs(p, &k[PMC_ESCR], &pmc, e);
	if (rc == 0 && k[PMC_WITH].seen)
		rc = parse_find_above(p, &k[PMC_WITH], i, &pmc.with, e);
	if (rc < 0)
		return rc;
	pmc.with += k[PMC_WITH].seen;
	if (pmu->npmcs == PMU_MAX_PMCS)
		return err_set(
			e, EINVAL, "there are more than %d PMCs: leave some out", PMU_MAX_PMCS);
	pmc.addr = (uint32_t)addr;
	p->trims[pmu->npmcs] = pmc.shared && k[PMC_OF].seen;
	p->pmc_line[pmu->npmcs] = p->line;
	pmu->pmcs[pmu->npmcs++] = pmc;
	return 0;
}

/* Removes the rows from @before on, which belong to a line with a mistake. */
static void parse_lose(struct parse *p, uint16_t before, const struct array *a)
{
	p->pmu.npmcs = before;
	for (unsigned num = a->first; num <= a->last; num++)
		p->lost[num] = true;
}

int parse_pmc(struct parse *p, struct slice line, struct err *e)
{
	struct key keys[PMC_KEYS] = {
		[PMC_ADDR] = {"addr", KEY_STEPS, UINT32_MAX, true},
		[PMC_DEFAULT] = {"default", KEY_NUMBER, UINT64_MAX, true},
		[PMC_RESERVED] = {"reserved", KEY_NUMBER, UINT64_MAX, true},
		[PMC_ENABLE] = {"enable", KEY_NUMBER, UINT64_MAX, true},
		[PMC_KERNEL] = {"kernel", KEY_NUMBER, UINT64_MAX, true},
		[PMC_USER] = {"user", KEY_NUMBER, UINT64_MAX},
		[PMC_WIDE] = {"wide", KEY_NUMBER, UINT64_MAX},
		[PMC_NODE] = {"node", KEY_FLAG},
		[PMC_GATE] = {"gate", KEY_STEPS, PMU_MAX_NUM - 1},
		[PMC_RESTRICTS] = {"restricts", KEY_FLAG},
		[PMC_WITH] = {"with", KEY_STEPS, PMU_MAX_NUM - 1},
		[PMC_BUSY] = {"busy", KEY_NUMBER, UINT64_MAX},
		[PMC_LATCHED] = {"latched", KEY_NUMBER, UINT64_MAX},
		[PMC_SHARED] = {"shared", KEY_FLAG},
		[PMC_OF] = {"of", KEY_WORD, .words = parse_of_words},
		[PMC_SCOPE] = {"scope", KEY_WORD, .words = parse_scope_words},
		[PMC_OVF] = {"ovf", KEY_NUMBER, UINT64_MAX},
		[PMC_SECOND] = {"second", KEY_NUMBER, UINT64_MAX},
		[PMC_ESCR] = {"escr", KEY_LIST},
	};
	struct array a = {.last = PMU_MAX_NUM - 1}; /* All numbers, until the range is known. */
	uint16_t before = p->pmu.npmcs;
	int rc = parse_array(&line, &a, e);

	if (rc == 0)
		rc = key_parse_line(line, keys, PMC_KEYS, e);
	if (rc == 0)
		rc = parse_array_limit(p, &a, &keys[PMC_OF], e);
	for (unsigned i = 0; rc == 0 && i <= a.last - a.first; i++)
		if (a.exists & 1ULL << i)
			rc = parse_pmc_at(p, &a, i, keys, e);
	if (rc < 0)
		parse_lose(p, before, &a);
	return rc;
}

enum {
	PMD_ADDR,
	PMD_WADDR,
	PMD_FULL,
	PMD_WIDTH,
	PMD_WMASK,
	PMD_PMC,
	PMD_FIELD,
	PMD_GLOBAL,
	PMD_RDPMC,
	PMD_BUFFER,
	PMD_OF,
	PMD_SCOPE,
	PMD_TWICE,
	PMD_KEYS
};

/* Sets the fields of @pmd whose keys have steps. */
static int parse_pmd_steps(struct pmu_pmd *pmd, unsigned i, const struct key *k, struct err *e)
{
	uint64_t v[PMD_KEYS] = {0};
	int rc = 0;

	for (unsigned n = 0; rc == 0 && n < PMD_KEYS; n++)
		if (k[n].seen && k[n].kind == KEY_STEPS)
			rc = key_at(&k[n], i, &v[n], e);
	if (rc < 0)
		return rc;
	pmd->addr = (uint32_t)v[PMD_ADDR];
	pmd->waddr = k[PMD_WADDR].seen ? (uint32_t)v[PMD_WADDR] : pmd->addr;
	pmd->field = k[PMD_FIELD].seen ? v[PMD_FIELD] : UINT64_MAX;
	pmd->global = k[PMD_GLOBAL].seen ? (int8_t)v[PMD_GLOBAL] : -1;
	pmd->rdpmc = k[PMD_RDPMC].seen ? (int64_t)v[PMD_RDPMC] : -1;
	return 0;
}

/* Uses the alias for writing a counter completely, if the CPU has it. */
static int parse_pmd_full(const struct parse *p, struct pmu_pmd *pmd, unsigned i,
	const struct key *full, struct err *e)
{
	uint64_t addr;
	int rc = key_at(full, i, &addr, e);

	if (rc < 0 || !p->features || !p->features->full_width)
		return rc;
	pmd->waddr = (uint32_t)addr;
	pmd->wmask = pmu_low_bits(pmd->width);
	return 0;
}

static int parse_pmd_at(
	struct parse *p, const struct array *a, unsigned i, const struct key *k, struct err *e)
{
	struct pmu *pmu = &p->pmu;
	struct pmu_pmd pmd = {
		.num = (uint16_t)(a->first + i),
		.width = (uint8_t)(k[PMD_WIDTH].seen ? k[PMD_WIDTH].value : a->width),
		.wmask = k[PMD_WMASK].value,
		.buffer = k[PMD_BUFFER].seen,
		.scope = (enum pmu_scope)k[PMD_SCOPE].value,
		.twice = k[PMD_TWICE].seen,
		.umc = (uint8_t)(a->each ? 1 + i / a->each : 0),
	};
	int rc = parse_array_name(a, i, pmd.name, e);

	if (rc == 0)
		rc = parse_find_above(p, &k[PMD_PMC], i, &pmd.pmc, e);
	if (rc == 0)
		rc = parse_pmd_steps(&pmd, i, k, e);
	if (rc == 0 && k[PMD_FULL].seen)
		rc = parse_pmd_full(p, &pmd, i, &k[PMD_FULL], e);
	if (rc < 0)
		return rc;
	if (pmu->npmds == PMU_MAX_PMDS)
		return err_set(
			e, EINVAL, "there are more than %d PMDs: leave some out", PMU_MAX_PMDS);
	if (pmd.width < pmu->counter_width)
		pmu->counter_width = pmd.width;
	p->pmd_line[pmu->npmds] = p->line;
	pmu->pmds[pmu->npmds++] = pmd;
	return 0;
}

int parse_pmd(struct parse *p, struct slice line, struct err *e)
{
	struct key keys[PMD_KEYS] = {
		[PMD_ADDR] = {"addr", KEY_STEPS, UINT32_MAX, true},
		[PMD_WADDR] = {"waddr", KEY_STEPS, UINT32_MAX},
		[PMD_FULL] = {"full", KEY_STEPS, UINT32_MAX},
		[PMD_WIDTH] = {"width", KEY_NUMBER, 64},
		[PMD_WMASK] = {"wmask", KEY_NUMBER, UINT64_MAX, true},
		[PMD_PMC] = {"pmc", KEY_STEPS, PMU_MAX_NUM - 1, true},
		[PMD_FIELD] = {"field", KEY_STEPS, UINT64_MAX},
		[PMD_GLOBAL] = {"global", KEY_STEPS, 63},
		[PMD_RDPMC] = {"rdpmc", KEY_STEPS, UINT32_MAX},
		[PMD_BUFFER] = {"buffer", KEY_FLAG},
		[PMD_OF] = {"of", KEY_WORD, .words = parse_of_words},
		[PMD_SCOPE] = {"scope", KEY_WORD, .words = parse_scope_words},
		[PMD_TWICE] = {"twice", KEY_FLAG},
	};
	struct array a;
	uint16_t before = p->pmu.npmds;
	int rc = parse_array(&line, &a, e);

	if (rc == 0)
		rc = key_parse_line(line, keys, PMD_KEYS, e);
	if (rc == 0 && !keys[PMD_WIDTH].seen && !keys[PMD_OF].seen)
		rc = err_set(e, EINVAL,
			"width= is missing: write the bits that count, or of=, by which CPUID says "
			"them");
	if (rc == 0)
		rc = parse_array_limit(p, &a, &keys[PMD_OF], e);
	for (unsigned i = 0; rc == 0 && i <= a.last - a.first; i++)
		if (a.exists & 1ULL << i)
			rc = parse_pmd_at(p, &a, i, keys, e);
	if (rc < 0)
		p->pmu.npmds = before;
	return rc;
}

int parse_virtual(struct parse *p, struct slice line, struct err *e)
{
	struct pmu_virtual v = {.kind = PMU_VIRTUAL_FILE};
	struct slice path, key;
	uint64_t num;
	int rc;

	if (p->pmu.nvirtuals == PMU_MAX_VIRTUALS - PMU_READINGS)
		return err_set(e, EINVAL,
			"there are more than %d virtual PMDs, including those of every PMU: leave "
			"some out",
			PMU_MAX_VIRTUALS - PMU_READINGS);
	if (num_within(slice_word(&line), PMU_FIRST_FILE, PMU_MAX_NUM - 1, &num, e) < 0)
		return err_prefix(e, "the register's number");
	rc = text_parse(slice_word(&line), "register's name", "virtual NUM NAME file=PATH", v.name,
		PMU_NAME, e);
	if (rc < 0)
		return rc;
	v.num = (uint16_t)num;
	path = slice_word(&line);
	key = slice_cut(&path, '=');
	if (!slice_is(key, "file"))
		return err_set(
			e, EINVAL, "file=PATH is missing: write the file that has the number");
	if (slice_word(&line).n)
		return err_set(e, EINVAL,
			"nothing may follow file=PATH, and PATH must not contain blanks");
	rc = text_parse(path, "path", "virtual NUM NAME file=PATH", v.path, PMU_PATH, e);
	if (rc < 0)
		return rc;
	p->virtual_line[p->pmu.nvirtuals] = p->line;
	p->pmu.virtuals[p->pmu.nvirtuals++] = v;
	return 0;
}

void parse_trim(struct parse *p)
{
	for (unsigned row = 0; row < p->pmu.npmcs; row++) {
		struct pmu_pmc *pmc = &p->pmu.pmcs[row];
		uint64_t fields = 0;

		if (!p->trims[row])
			continue;
		for (unsigned i = 0; i < p->pmu.npmds; i++)
			if (p->pmu.pmds[i].pmc == row)
				fields |= p->pmu.pmds[i].field;
		pmc->rsvd |= ~fields;
		pmc->enable &= fields;
		pmc->kernel &= fields;
		pmc->user &= fields;
	}
}
