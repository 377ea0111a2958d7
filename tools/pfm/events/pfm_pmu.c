// SPDX-License-Identifier: MIT
/*
 * The files describe registers by number, name, type and address. fs-layout.md defines which PMC
 * selects for which PMD: the PMC of the same number; for Intel's fixed counters, FIXED_CTR_CTRL;
 * for NetBurst, a CCCR. The latter two are recognized by their addresses, whatever their numbers
 * are. PMDs of memory controllers are listed controller by controller, in the same order.
 */
#include "tools/pfm/events/pfm_pmu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

enum {
	MSR_FIXED_CTR0 = 0x309,
	MSR_FIXED_CTR_CTRL = 0x38d,
	MSR_P4_CTR0 = 0x300, /* NetBurst: counter n has the CCCR n */
	MSR_P4_CCCR0 = 0x360,
	MSR_P4_BPU_CCCR1 = 0x361, /* does not stop its counter properly; Linux does not use it */
	MAX_FIXED = 16,           /* counters that FIXED_CTR_CTRL has bits for */
	MAX_REGISTER = 319,       /* greatest logical number of the tree */
	PMU_FEWEST_GROUPS = 3,    /* fewer are shorter as a list */
};

/* A line of pmcs or pmds: INDEX NAME TYPE ADDRESS DEFAULT RESERVED-MASK [WORD...] */
struct pmu_line {
	struct slice type;
	bool buffer;
	bool uncore; /* shared by CPUs of a package or cache, with events of its own */
	bool is_umc; /* the counter of a memory controller */
	uint64_t num, addr, rsvd;
	uint64_t umc;         /* the number of the controller */
	uint64_t escr_select; /* as in struct pfm_pmc */
	int escr[PFM_PMU_ESCRS];
};

/* Parses BITS:N,N,... */
static int pmu_parse_escrs(struct slice list, struct pmu_line *l, struct err *e)
{
	uint64_t escr;
	int rc = num_u64(slice_cut(&list, ':'), &l->escr_select, e);

	for (unsigned i = 0; rc == 0 && i < PFM_PMU_ESCRS; i++) {
		struct slice word = slice_cut(&list, ',');

		l->escr[i] = -1;
		if (!word.n || slice_is(word, "-"))
			continue;
		rc = num_max(word, PFM_PMU_REGS - 1, &escr, e);
		l->escr[i] = rc == 0 ? (int)escr : -1;
	}
	return rc < 0 ? err_prefix(e, "escr=") : 0;
}

/* Parses the optional words. Unknown words come from later versions and are ignored. */
static int pmu_parse_words(struct slice words, struct pmu_line *l, struct err *e)
{
	struct slice word, value;
	int rc = 0;

	l->buffer = l->uncore = l->is_umc = false;
	l->escr_select = 0;
	while (rc == 0 && (word = slice_word(&words)).n) {
		l->buffer = l->buffer || slice_is(word, "buffer");
		l->uncore = l->uncore || slice_is(word, "ccx") || slice_is(word, "package");
		value = word;
		word = slice_cut(&value, '=');
		if (slice_is(word, "umc")) {
			l->is_umc = true;
			rc = num_max(value, PFM_PMU_UMCS - 1, &l->umc, e);
		} else if (slice_is(word, "escr")) {
			rc = pmu_parse_escrs(value, l, e);
		}
	}
	return rc;
}

static int pmu_parse_line(struct slice line, struct pmu_line *l, struct err *e)
{
	uint64_t def;
	int rc = num_max(slice_word(&line), MAX_REGISTER, &l->num, e);

	slice_word(&line);
	l->type = slice_word(&line);
	if (rc == 0)
		rc = num_max(slice_word(&line), UINT32_MAX, &l->addr, e);
	if (rc == 0)
		rc = num_u64(slice_word(&line), &def, e);
	if (rc == 0)
		rc = num_u64(slice_word(&line), &l->rsvd, e);
	return rc < 0 ? rc : pmu_parse_words(line, l, e);
}

static int pmu_add_pmc(struct pfm_pmu *pmu, const struct pmu_line *l, struct err *e)
{
	struct pfm_pmc *pmc = &pmu->pmcs[pmu->npmcs];

	if (pfm_pmu_pmc(pmu, (unsigned)l->num))
		return err_set(e, EINVAL, "PMC %u is described twice", (unsigned)l->num);
	if (pmu->npmcs == PFM_PMU_REGS)
		return err_set(e, EINVAL, "more than %d registers", PFM_PMU_REGS);
	pmu->npmcs++;
	*pmc = (struct pfm_pmc){.num = (unsigned)l->num,
		.addr = (uint32_t)l->addr,
		.rsvd = l->rsvd,
		.escr_select = l->escr_select};
	if (pmc->escr_select)
		memcpy(pmc->escr, l->escr, sizeof(pmc->escr));
	return 0;
}

/* The CCCR of a NetBurst counter; NULL: @l is no such counter. */
static const struct pfm_pmc *pmu_cccr(const struct pfm_pmu *pmu, const struct pmu_line *l)
{
	const struct pfm_pmc *pmc =
		pfm_pmu_pmc_at(pmu, MSR_P4_CCCR0 + (uint32_t)l->addr - MSR_P4_CTR0);

	return pmc && pmc->escr_select && slice_is(l->type, "msr") && !l->is_umc ? pmc : NULL;
}

static void pmu_add_escrs(struct pfm_pmu *pmu, const struct pfm_pmc *cccr)
{
	for (unsigned i = 0; i < PFM_PMU_ESCRS; i++)
		if (cccr->escr[i] >= 0 && pfm_pmu_pmc(pmu, (unsigned)cccr->escr[i]))
			pmu->escrs |= 1ULL << cccr->escr[i];
}

/* Adds a PMD of a further memory controller to the first counter that has none of it yet. */
static int pmu_join_umc(struct pfm_pmu *pmu, const struct pmu_line *l, struct err *e)
{
	for (unsigned i = 0; i < pmu->ncounters; i++) {
		struct pfm_counter *d = &pmu->counters[i];

		if (!d->umc || d->n != l->umc)
			continue;
		d->nums[d->n++] = (uint16_t)l->num;
		return 0;
	}
	return err_set(e, EINVAL,
		"PMD %u: memory controller %u has more counters than those before",
		(unsigned)l->num, (unsigned)l->umc);
}

/* Checks that controllers have equally many counters: a sum over some of them would be no count. */
static int pmu_check_umcs(const struct pfm_pmu *pmu, struct err *e)
{
	unsigned n = 0;

	for (unsigned i = 0; i < pmu->ncounters; i++) {
		if (!pmu->counters[i].umc)
			continue;
		if (n && pmu->counters[i].n != n)
			return err_set(e, EINVAL,
				"pmu/pmds: memory controllers have different numbers of counters");
		n = pmu->counters[i].n;
	}
	return 0;
}

/* Adds a PMD. Skips PMDs that have no selector, are virtual or buffers, or count events neither of
 * a CPU nor of memory controllers. */
static int pmu_add_pmd(struct pfm_pmu *pmu, const struct pmu_line *l, struct err *e)
{
	const struct pfm_pmc *pmc, *cccr = pmu_cccr(pmu, l);
	uint64_t fixed = l->addr - MSR_FIXED_CTR0;
	bool is_fixed = !cccr && !l->is_umc && slice_is(l->type, "msr") && fixed < MAX_FIXED;

	pmc = cccr       ? cccr
	      : is_fixed ? pfm_pmu_pmc_at(pmu, MSR_FIXED_CTR_CTRL)
			 : pfm_pmu_pmc(pmu, (unsigned)l->num);
	if (!pmc || l->buffer || slice_is(l->type, "virtual") || (l->uncore && !l->is_umc) ||
		(cccr && cccr->addr == MSR_P4_BPU_CCCR1))
		return 0;
	if (pfm_pmu_counter(pmu, (unsigned)l->num))
		return err_set(e, EINVAL, "PMD %u is described twice", (unsigned)l->num);
	if (l->is_umc && l->umc)
		return pmu_join_umc(pmu, l, e);
	if (pmu->ncounters == PFM_PMU_REGS)
		return err_set(e, EINVAL, "more than %d registers", PFM_PMU_REGS);
	pmu->counters[pmu->ncounters] = (struct pfm_counter){.nums = {(uint16_t)l->num},
		.n = 1,
		.umc = l->is_umc,
		.pmc = pmc->num,
		.fixed = is_fixed ? (int)fixed : -1};
	if (l->is_umc)
		pmu->umc |= 1ULL << pmu->ncounters;
	else if (!is_fixed)
		pmu->general |= 1ULL << pmu->ncounters;
	pmu->all |= 1ULL << pmu->ncounters++;
	if (cccr)
		pmu_add_escrs(pmu, cccr);
	return 0;
}

static int pmu_parse_regs(struct pfm_pmu *pmu, struct slice text, const char *file,
	int (*add)(struct pfm_pmu *, const struct pmu_line *, struct err *), struct err *e)
{
	for (unsigned nr = 1; text.n; nr++) {
		struct slice line = slice_cut(&text, '\n');
		struct pmu_line l;
		int rc = pmu_parse_line(line, &l, e);

		if (rc == 0)
			rc = add(pmu, &l, e);
		if (rc < 0)
			return err_prefix(e, "pmu/%s:%u", file, nr);
	}
	return 0;
}

static void pmu_copy(char *to, size_t room, struct slice s)
{
	snprintf(to, room, "%.*s", (int)(s.n < room ? s.n : room - 1), s.p);
}

static int pmu_add_arch_events(struct pfm_pmu *pmu, struct err *e)
{
	const struct arch_event *a;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && (a = arch_event_at(i)); i++) {
		struct event_row row = {.code = a->code,
			.counters = EVENT_ANY_COUNTER,
			.source = "architectural",
			.active = true};

		if (a->encoding != pmu->cpu.encoding)
			continue;
		snprintf(row.name, sizeof(row.name), "%s", a->name);
		snprintf(row.desc, sizeof(row.desc), "%s", a->desc);
		rc = event_table_add(&pmu->events, &row, e);
	}
	return rc;
}

/* Parses NAME PMC-VALUE DESCRIPTION. Skips architectural events, which pmu_add_arch_events() adds:
 * a tree has only those that any counter counts. */
static int pmu_parse_event(struct pfm_pmu *pmu, struct slice line, struct err *e)
{
	struct event_row row = {.counters = EVENT_ANY_COUNTER, .source = "tree", .active = true};
	struct slice name = slice_word(&line);
	int rc;

	if (!name.n || name.n >= sizeof(row.name))
		return err_set(
			e, EINVAL, "a name of 1 to %zu bytes is missing", sizeof(row.name) - 1);
	rc = num_u64(slice_word(&line), &row.code, e);
	if (rc < 0)
		return rc;
	if (arch_event_named(pmu->cpu.encoding, name))
		return 0;
	row.code &= ~PFM_SEL_STATE;
	pmu_copy(row.name, sizeof(row.name), name);
	pmu_copy(row.desc, sizeof(row.desc), slice_trim(line));
	return event_table_add(&pmu->events, &row, e);
}

static int pmu_parse_events(struct pfm_pmu *pmu, struct slice text, struct err *e)
{
	for (unsigned nr = 1; text.n; nr++)
		if (pmu_parse_event(pmu, slice_cut(&text, '\n'), e) < 0)
			return err_prefix(e, "pmu/events:%u", nr);
	return 0;
}

static struct slice pmu_first_line(struct slice text)
{
	return slice_trim(slice_cut(&text, '\n'));
}

/* The encoding by the PMU's name or title; with the perf backend, that of the machine's PMU. */
static enum arch_encoding pmu_encoding(const struct pfm_pmu *pmu, const struct pfm_cpu *cpu)
{
	if (strcmp(pmu->name, "p6") == 0 || strcmp(pmu->name, "pentium_m") == 0)
		return ARCH_P6;
	if (strncmp(pmu->name, "intel_arch_v", 12) == 0 ||
		strncmp(pmu->model, "Intel architectural", 19) == 0)
		return ARCH_INTEL;
	if (strncmp(pmu->name, "amd64", 5) == 0 || strncmp(pmu->model, "AMD64", 5) == 0)
		return ARCH_AMD;
	return cpu->kernel_pmu && strcmp(pmu->backend, "perf") == 0 ? cpu->encoding : ARCH_NONE;
}

static void pmu_set_cpu(struct pfm_pmu *pmu, const struct pfm_cpu *cpu)
{
	bool simulated = strcmp(pmu->backend, "sim") == 0;

	pmu->software_only = !cpu->kernel_pmu && strcmp(pmu->backend, "perf") == 0;
	pmu->cpu.encoding = pmu_encoding(pmu, cpu);
	pmu->cpu.family = simulated ? -1 : cpu->family;
	pmu->cpu.model = simulated ? -1 : cpu->model;
}

static void pmu_set_types(struct pfm_pmu *pmu, struct slice types, struct slice type)
{
	struct slice word;

	pmu_copy(pmu->type, sizeof(pmu->type), type);
	while (pmu->ntypes < PFM_PMU_TYPES && (word = slice_word(&types)).n)
		pmu_copy(pmu->types[pmu->ntypes++], sizeof(pmu->types[0]), word);
}

const char *pfm_pmu_prefix(char room[PFM_PREFIX_ROOM], const char *type)
{
	snprintf(room, PFM_PREFIX_ROOM, "cpu_%s", type);
	return room;
}

int pfm_pmu_parse(const struct pfm_pmu_text *text, const struct pfm_cpu *cpu, struct pfm_pmu *pmu,
	struct err *e)
{
	int rc;

	*pmu = (struct pfm_pmu){0};
	pmu_copy(pmu->name, sizeof(pmu->name), pmu_first_line(text->name));
	pmu_copy(pmu->model, sizeof(pmu->model), pmu_first_line(text->model));
	pmu_copy(pmu->backend, sizeof(pmu->backend), pmu_first_line(text->backend));
	pmu_set_cpu(pmu, cpu);
	pmu_set_types(pmu, text->types, text->type);
	rc = pmu_parse_regs(pmu, text->pmcs, "pmcs", pmu_add_pmc, e);
	if (rc == 0)
		rc = pmu_parse_regs(pmu, text->pmds, "pmds", pmu_add_pmd, e);
	if (rc == 0)
		rc = pmu_check_umcs(pmu, e);
	if (rc == 0)
		rc = pmu_parse_events(pmu, text->events, e);
	if (rc == 0)
		rc = pmu_add_arch_events(pmu, e);
	if (rc < 0)
		pfm_pmu_free(pmu);
	return rc;
}

void pfm_pmu_free(struct pfm_pmu *pmu)
{
	event_table_free(&pmu->events);
}

const struct pfm_pmc *pfm_pmu_pmc(const struct pfm_pmu *pmu, unsigned num)
{
	for (unsigned i = 0; i < pmu->npmcs; i++)
		if (pmu->pmcs[i].num == num)
			return &pmu->pmcs[i];
	return NULL;
}

const struct pfm_pmc *pfm_pmu_pmc_at(const struct pfm_pmu *pmu, uint32_t addr)
{
	for (unsigned i = 0; i < pmu->npmcs; i++)
		if (pmu->pmcs[i].addr == addr)
			return &pmu->pmcs[i];
	return NULL;
}

/* Whether @num is a PMD of counter @d. */
static bool pmu_counter_has(const struct pfm_counter *d, unsigned num)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->nums[i] == num)
			return true;
	return false;
}

const struct pfm_counter *pfm_pmu_counter(const struct pfm_pmu *pmu, unsigned num)
{
	for (unsigned i = 0; i < pmu->ncounters; i++)
		if (pmu_counter_has(&pmu->counters[i], num))
			return &pmu->counters[i];
	return NULL;
}

unsigned pfm_counter_pmc(const struct pfm_counter *d, unsigned i)
{
	return d->umc ? d->nums[i] : d->pmc;
}

int pfm_pmu_choice(const struct pfm_pmc *cccr, unsigned escr)
{
	for (int i = 0; cccr->escr_select && i < PFM_PMU_ESCRS; i++)
		if (cccr->escr[i] == (int)escr)
			return i;
	return -1;
}

uint64_t pfm_pmu_escr_counters(const struct pfm_pmu *pmu, unsigned escr)
{
	uint64_t counters = 0;

	for (unsigned i = 0; i < pmu->ncounters; i++)
		if (pfm_pmu_choice(pfm_pmu_pmc(pmu, pmu->counters[i].pmc), escr) >= 0)
			counters |= 1ULL << i;
	return counters;
}

const struct pfm_pmc *pfm_pmu_selector(
	const struct pfm_pmu *pmu, const struct pfm_counter *d, uint64_t value)
{
	const struct pfm_pmc *pmc = pfm_pmu_pmc(pmu, d->pmc);
	uint64_t choice;

	if (!pmc->escr_select)
		return pmc;
	choice = (value & pmc->escr_select) >> __builtin_ctzll(pmc->escr_select);
	return choice < PFM_PMU_ESCRS && pmc->escr[choice] >= 0
		       ? pfm_pmu_pmc(pmu, (unsigned)pmc->escr[choice])
		       : NULL;
}

uint64_t pfm_pmu_fixed(const struct pfm_pmu *pmu, unsigned n)
{
	for (unsigned i = 0; i < pmu->ncounters; i++)
		if (pmu->counters[i].fixed == (int)n)
			return 1ULL << i;
	return 0;
}

/* Whether @num is in the set. With @pmu NULL, the set has PMC numbers instead of counters. */
static bool pmu_set_has(const struct pfm_pmu *pmu, uint64_t set, unsigned num)
{
	const struct pfm_counter *d = pmu ? pfm_pmu_counter(pmu, num) : NULL;

	if (!pmu)
		return num < PFM_PMU_REGS && set >> num & 1;
	return d && set >> (d - pmu->counters) & 1;
}

/* The first number from @num on that is in the set, or with @in false is not; MAX_REGISTER + 1:
 * none. */
static unsigned pmu_set_next(const struct pfm_pmu *pmu, uint64_t counters, unsigned num, bool in)
{
	while (num <= MAX_REGISTER && pmu_set_has(pmu, counters, num) != in)
		num++;
	return num;
}

/* How many times the @used numbers from @first on repeat at a distance of @size. */
static unsigned pmu_set_groups(
	const struct pfm_pmu *pmu, uint64_t counters, unsigned first, unsigned used, unsigned size)
{
	unsigned n = 0, at = first;

	while (at <= MAX_REGISTER && pmu_set_next(pmu, counters, at, true) == at &&
		pmu_set_next(pmu, counters, at, false) == at + used) {
		n++;
		at = pmu_set_next(pmu, counters, at + used, true);
		if (at != first + n * size)
			break;
	}
	return n;
}

static const char *pmu_set_text(const struct pfm_pmu *pmu, char room[PFM_COUNTERS_ROOM],
	uint64_t counters, unsigned fewest_groups)
{
	unsigned first = pmu_set_next(pmu, counters, 0, true), end;
	size_t n = 0;

	room[0] = '\0';
	for (; first <= MAX_REGISTER; first = pmu_set_next(pmu, counters, end, true)) {
		unsigned used = pmu_set_next(pmu, counters, first, false) - first;
		unsigned size = pmu_set_next(pmu, counters, first + used, true) - first;
		unsigned groups = pmu_set_groups(pmu, counters, first, used, size);

		end = first + used;
		n += (size_t)snprintf(room + n, PFM_COUNTERS_ROOM - n, "%s%u", n ? "," : "", first);
		if (groups >= fewest_groups) {
			end = first + (groups - 1) * size + used;
			n += (size_t)snprintf(
				room + n, PFM_COUNTERS_ROOM - n, "-%u:%u/%u", end - 1, used, size);
		} else if (used > 1) {
			n += (size_t)snprintf(room + n, PFM_COUNTERS_ROOM - n, "-%u", end - 1);
		}
	}
	return room;
}

const char *pfm_pmu_counters(
	const struct pfm_pmu *pmu, char room[PFM_COUNTERS_ROOM], uint64_t counters)
{
	return pmu_set_text(pmu, room, counters, PMU_FEWEST_GROUPS);
}

const char *pfm_pmu_counter_list(
	const struct pfm_pmu *pmu, char room[PFM_COUNTERS_ROOM], uint64_t counters)
{
	return pmu_set_text(pmu, room, counters, MAX_REGISTER);
}

const char *pfm_pmu_escrs(char room[PFM_COUNTERS_ROOM], uint64_t escrs)
{
	return pmu_set_text(NULL, room, escrs, MAX_REGISTER);
}
