// SPDX-License-Identifier: MIT
#include "tools/pfm/events/event_file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "tools/pfm/events/event_code.h"

struct event_file {
	struct pfm_pmu *pmu;
	const char *source;
	unsigned first; /* row of the file's first event */
	bool named;     /* a line names CPUs, PMUs or a vendor */
	bool active;    /* one of them is this CPU or PMU */
	bool foreign;   /* a line names another vendor */
	char aliases[EVENT_ALIASES];
};

static bool event_is_name(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!isalnum((unsigned char)s.p[i]) && !memchr("_.:-", s.p[i], 4))
			return false;
	return s.n && s.n < EVENT_NAME;
}

/* PMD @num of a CPU as a set of counters; 0: the PMU has no such PMD. */
static uint64_t event_file_counter(const struct pfm_pmu *pmu, unsigned num)
{
	const struct pfm_counter *d = pfm_pmu_counter(pmu, num);

	return d && !d->umc ? 1ULL << (d - pmu->counters) : 0;
}

/* Parses a list of register numbers into bits. */
static int event_parse_numbers(struct slice list, uint64_t *numbers, struct err *e)
{
	uint64_t first, last;

	*numbers = 0;
	do {
		int rc = num_range(&list, PFM_PMU_REGS - 1, &first, &last, e);

		if (rc < 0)
			return err_prefix(e, "the counters");
		for (; first <= last; first++)
			*numbers |= 1ULL << first;
	} while (list.n);
	return 0;
}

/* Parses a list of PMDs, "*", "umc", or for NetBurst "pmc" and a list of ESCRs. */
static int event_parse_counters(
	const struct pfm_pmu *pmu, struct slice list, struct event_row *row, struct err *e)
{
	uint64_t pmds;

	row->umc = slice_is(list, "umc");
	row->counters = row->umc ? pmu->umc : EVENT_ANY_COUNTER;
	if (row->umc || slice_is(list, "*"))
		return 0;
	if (slice_starts(list, "pmc"))
		return event_parse_numbers((struct slice){list.p + 3, list.n - 3}, &row->escrs, e);
	if (event_parse_numbers(list, &pmds, e) < 0)
		return -e->no;
	row->counters = 0;
	for (unsigned i = 0; i < PFM_PMU_REGS; i++)
		if (pmds >> i & 1)
			row->counters |= event_file_counter(pmu, i);
	return 0;
}

/* Parses the fields CODE and COUNTERS, which are empty if the line ends before them. */
static int event_file_code(const struct pfm_pmu *pmu, struct slice word, struct slice counters,
	struct event_row *row, struct err *e)
{
	struct event_code c = {0};
	uint64_t state;
	int rc = event_code_parse(word, &c, e);

	if (rc == 1)
		return err_set(e, EINVAL,
			"'%.*s' is not a code: write NAME CODE COUNTERS DESCRIPTION",
			SLICE_ARG(word));
	if (rc == 0)
		rc = event_parse_counters(pmu, counters, row, e);
	if (rc < 0)
		return rc;
	state = row->escrs ? PFM_ESCR_STATE : PFM_SEL_STATE;
	if (c.code & state)
		return err_set(e, EINVAL,
			"'%.*s' has bits for level, enable or interrupt: leave out 0x%" PRIx64,
			SLICE_ARG(word), c.code & state);
	if (row->escrs && c.has_extra)
		return err_set(e, EINVAL, "'%.*s': an ESCR has no extra register", SLICE_ARG(word));
	row->code = c.code;
	row->extra = c.extra;
	row->has_extra = c.has_extra;
	return 0;
}

static bool event_file_has(const struct event_file *f, struct slice name)
{
	for (unsigned i = f->first; i < f->pmu->events.n; i++) {
		const char *other = f->pmu->events.rows[i].name;

		/* Most names differ in their length. */
		if (other[name.n - 1] && !other[name.n] && event_name_is(name, other))
			return true;
	}
	return false;
}

/* Whether one of the file's names is Linux's name of this PMU's type. */
static bool event_file_is_of_type(const struct event_file *f)
{
	struct slice names = slice_of(f->aliases), name;
	char room[PFM_PREFIX_ROOM];

	while (f->pmu->type[0] && (name = slice_word(&names)).n)
		if (slice_is(name, pfm_pmu_prefix(room, f->pmu->type)))
			return true;
	return false;
}

/* Parses NAME CODE COUNTERS DESCRIPTION. */
static int event_file_event(
	struct event_file *f, struct slice name, struct slice line, struct err *e)
{
	struct event_row row = {.active = f->active || !f->named || event_file_is_of_type(f)};
	struct slice desc, code;

	if (!event_is_name(name))
		return err_set(e, EINVAL,
			"'%.*s' is not a name: write at most %d letters, digits, and _ . : -",
			SLICE_ARG(name), EVENT_NAME - 1);
	if (event_file_has(f, name))
		return err_set(e, EINVAL, "%.*s is described twice", SLICE_ARG(name));
	code = slice_word(&line);
	if (event_file_code(f->pmu, code, slice_word(&line), &row, e) < 0)
		return -e->no;
	desc = slice_trim(line);
	if (desc.n >= sizeof(row.desc))
		return err_set(
			e, EINVAL, "the description has more than %zu bytes", sizeof(row.desc) - 1);
	/* pfm parses some thousand lines at each start. */
	memcpy(row.name, name.p, name.n);
	memcpy(row.desc, desc.p, desc.n);
	memccpy(row.source, f->source, '\0', sizeof(row.source) - 1);
	memcpy(row.aliases, f->aliases, sizeof(row.aliases));
	return f->foreign ? 0 : event_table_add(&f->pmu->events, &row, e);
}

/* Parses pmu NAME... */
static int event_file_pmu(struct event_file *f, struct slice line, struct err *e)
{
	struct slice word = slice_word(&line);

	if (!word.n)
		return err_set(e, EINVAL, "a name is missing: write pmu NAME");
	f->named = true;
	for (; word.n; word = slice_word(&line))
		f->active = f->active || slice_is(word, f->pmu->name);
	return 0;
}

static bool event_same_vendor(enum arch_encoding encoding, bool amd)
{
	return encoding == ARCH_NONE || amd == (encoding == ARCH_AMD);
}

/* Parses "intel" or "amd". */
static int event_file_vendor(struct event_file *f, struct slice word, bool *amd, struct err *e)
{
	*amd = slice_is(word, "amd");
	if (!*amd && !slice_is(word, "intel"))
		return err_set(
			e, EINVAL, "'%.*s' is not a vendor: write intel or amd", SLICE_ARG(word));
	/* A file of another vendor's CPUs adds nothing. */
	f->named = true;
	f->foreign = !event_same_vendor(f->pmu->cpu.encoding, *amd);
	return 0;
}

/* Parses intel|amd FAMILY MODELS. Sets @is if the machine's CPU is one of them. */
static int event_file_models(struct event_file *f, struct slice line, bool *is, struct err *e)
{
	const struct pfm_cpu *cpu = &f->pmu->cpu;
	uint64_t family, first, last;
	struct slice models;
	bool amd;
	int rc = event_file_vendor(f, slice_word(&line), &amd, e);

	if (rc == 0)
		rc = num_max(slice_word(&line), 0xfff, &family, e);
	models = slice_word(&line);
	do {
		if (rc == 0)
			rc = num_range(&models, 0xff, &first, &last, e);
		if (rc < 0)
			return rc;
		if (!f->foreign && cpu->encoding != ARCH_NONE &&
			cpu->family == (int)family && cpu->model >= (int)first &&
			cpu->model <= (int)last)
			*is = true;
	} while (models.n);
	return 0;
}

/* Parses also NAME [intel|amd FAMILY MODELS]: the name is for these CPUs, or for an unknown CPU. */
static int event_file_also(struct event_file *f, struct slice line, struct err *e)
{
	struct slice name = slice_word(&line);
	size_t n = strlen(f->aliases);
	bool is = f->pmu->cpu.family < 0;

	if (!event_is_name(name) || memchr(name.p, ':', name.n))
		return err_set(e, EINVAL, "'%.*s' is not the name of a PMU: write also NAME",
			SLICE_ARG(name));
	if (f->pmu->events.n > f->first)
		return err_set(e, EINVAL, "write also NAME before the first event");
	line = slice_trim(line);
	if (line.n && event_file_models(f, line, &is, e) < 0)
		return -e->no;
	if (line.n && !is)
		return 0;
	if (n + name.n + 2 > sizeof(f->aliases))
		return err_set(e, EINVAL, "the other names have more than %zu bytes",
			sizeof(f->aliases) - 1);
	snprintf(f->aliases + n, sizeof(f->aliases) - n, "%.*s ", (int)name.n, name.p);
	return 0;
}

static int event_file_line(struct event_file *f, struct slice line, struct err *e)
{
	struct slice word = slice_word(&line);
	bool amd;

	if (!word.n)
		return 0;
	if (slice_is(word, "pmu"))
		return event_file_pmu(f, line, e);
	if (slice_is(word, "vendor"))
		return event_file_vendor(f, slice_word(&line), &amd, e);
	if (slice_is(word, "cpu"))
		return event_file_models(f, line, &f->active, e);
	if (slice_is(word, "also"))
		return event_file_also(f, line, e);
	return event_file_event(f, word, line, e);
}

int event_file_parse(
	struct slice text, const char *path, const char *source, struct pfm_pmu *pmu, struct err *e)
{
	struct event_file f = {.pmu = pmu, .source = source, .first = pmu->events.n};

	for (unsigned nr = 1; text.n; nr++) {
		struct slice line = slice_cut(&text, '\n');

		if (event_file_line(&f, slice_cut(&line, '#'), e) < 0)
			return err_prefix(e, "%s:%u", path, nr);
	}
	return 0;
}
