// SPDX-License-Identifier: MIT
#include "tools/pfm/events/event.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "tools/pfm/events/event_code.h"
#include "tools/pfm/events/event_hint.h"
#include "tools/pfm/events/event_terms.h"
#include "tools/pfm/events/libpfm.h"
#include "tools/pfm/events/nearest.h"

/* The event and its unit mask in an event select; on AMD, the event has 12 bits. */
#define EVENT_FIELDS 0xff00000f0000ffffULL

/* Bits of the perf backend: class 0 are hardware events. */
enum { EVENT_PRECISE = 48, EVENT_CLASS = 56, EVENT_SOFTWARE = 1 };

static const char event_no_hardware[] =
	"the kernel has no PMU for hardware events here, as in many virtual machines";

static bool event_is_intel(const struct pfm_pmu *pmu)
{
	return pmu->cpu.encoding == ARCH_INTEL;
}

/* With the perf backend, PMDs are slots: the kernel chooses the counters and knows their
 * restrictions. */
static bool event_is_perf(const struct pfm_pmu *pmu)
{
	return strcmp(pmu->backend, "perf") == 0;
}

/* The code that the kernel accepts. It knows the codes of fixed counters 2 and 3; for the codes of
 * the other two, it would count a select that never happens. */
static uint64_t event_perf_code(const struct pfm_pmu *pmu, uint64_t code)
{
	if (!event_is_perf(pmu) || !event_is_intel(pmu))
		return code;
	return code == 0x0100 ? 0x00c0 : code == 0x0200 ? 0x003c : code;
}

/* Whether @code is an Intel event without a select: event 0, with the number of a fixed counter
 * plus 1 as unit mask. */
static bool event_is_pseudo(const struct pfm_pmu *pmu, uint64_t code)
{
	return event_is_intel(pmu) && !event_is_perf(pmu) && !(code & 0xff) && code & 0xff00;
}

/* Whether @code selects nothing: Intel has no event 0. Linux accepts it with the unit masks of
 * fixed counters 2 and 3, and with those of slot metrics, from 0x80 on. */
static bool event_is_nothing(const struct pfm_pmu *pmu, uint64_t code)
{
	uint64_t umask = code >> 8 & 0xff;

	if (code & 0xff || code >> EVENT_CLASS)
		return false;
	if (!event_is_intel(pmu))
		return pmu->cpu.encoding == ARCH_P6;
	return !umask || (event_is_perf(pmu) && umask != 3 && umask != 4 && umask < 0x80);
}

/* The fixed counter that counts the same as this select; 0: there is none. */
static uint64_t event_fixed(const struct pfm_pmu *pmu, uint64_t code)
{
	if (!event_is_intel(pmu))
		return 0;
	switch (code) {
	case 0x00c0:
		return pfm_pmu_fixed(pmu, 0);
	case 0x003c:
		return pfm_pmu_fixed(pmu, 1);
	case 0x01a4:
		return pfm_pmu_fixed(pmu, 3);
	}
	return 0;
}

/*
 * The counters for an event by its code alone. NetBurst also needs the ESCR, which the code lacks.
 */
static uint64_t event_counters(const struct pfm_pmu *pmu, uint64_t code)
{
	if (pmu->escrs)
		return 0;
	if (event_is_pseudo(pmu, code))
		return code & ~0xff00ULL ? 0 : pfm_pmu_fixed(pmu, (unsigned)(code >> 8) - 1);
	return pmu->general | event_fixed(pmu, code);
}

static uint64_t event_row_counters(const struct pfm_pmu *pmu, const struct event_row *row)
{
	return event_is_perf(pmu) ? EVENT_ANY_COUNTER : row->counters | event_fixed(pmu, row->code);
}

/* The counters that event files allow for an event and unit mask, under whichever name it was
 * given. */
static uint64_t event_restriction(const struct pfm_pmu *pmu, uint64_t code)
{
	for (const struct event_row *r = pmu->events.rows; r < pmu->events.rows + pmu->events.n;
		r++)
		if (r->active && !r->umc && !((r->code ^ code) & EVENT_FIELDS) &&
			r->counters != EVENT_ANY_COUNTER)
			return event_row_counters(pmu, r);
	return EVENT_ANY_COUNTER;
}

static int event_set_extra(const struct pfm_pmu *pmu, const struct event_code *c,
	struct pfm_event *event, struct err *e)
{
	uint32_t addr = event_is_intel(pmu) ? event_code_extra_addr(c->code) : 0;
	const struct pfm_pmc *pmc;

	event->extra_pmc = -1;
	if (!c->has_extra)
		return 0;
	if (!addr)
		return err_set(e, EINVAL,
			"event 0x%" PRIx64 " has no extra register: leave out +0x%" PRIx64, c->code,
			c->extra);
	pmc = pfm_pmu_pmc_at(pmu, addr);
	if (!pmc)
		return err_set(e, EOPNOTSUPP,
			"it needs the extra register 0x%x, which %s does not have", addr,
			pmu->name);
	event->extra_pmc = (int)pmc->num;
	event->extra = c->extra;
	return 0;
}

/* Explains why these bits of an event select are reserved, even where the processor has them. */
static const char *event_select_why(const struct pfm_pmu *pmu, uint64_t reserved)
{
	if (reserved & EVENT_SEL_PIN)
		return ": 0x80000 (pin control) drives pins of the processor and reaches no "
		       "program";
	if (reserved & EVENT_SEL_ANY && event_is_intel(pmu))
		return ": 0x200000 (AnyThread) counts the core's other thread, too";
	return "";
}

static int event_check_bits(
	const struct pfm_pmc *pmc, uint64_t code, const char *why, struct err *e)
{
	if (code & pmc->rsvd)
		return err_set(e, EINVAL, "bits 0x%" PRIx64 " are reserved in PMC %u%s",
			code & pmc->rsvd, pmc->num, why);
	return 0;
}

static int event_check_reserved(
	const struct pfm_pmu *pmu, uint64_t code, uint64_t counters, struct err *e)
{
	for (unsigned i = 0; i < pmu->ncounters; i++) {
		const struct pfm_counter *d = &pmu->counters[i];
		const struct pfm_pmc *pmc = pfm_pmu_pmc(pmu, d->pmc);
		const char *why = d->umc ? "" : event_select_why(pmu, code & pmc->rsvd);

		if (d->fixed < 0 && counters >> i & 1 && event_check_bits(pmc, code, why, e) < 0)
			return -e->no;
	}
	return 0;
}

/*
 * Whether the event needs two merged counters. From family 0x17 on, AMD's floating-point operations
 * can exceed the 15 that a counter can add in a cycle. Linux merges two counters for them, which a
 * tree of the msr backend cannot.
 */
static bool event_is_merged(const struct pfm_pmu *pmu, uint64_t code)
{
	return pmu->cpu.encoding == ARCH_AMD && pmu->cpu.family >= 0x17 && !event_is_perf(pmu) &&
	       (code & 0xf000000ff) == 0x03;
}

/* Fills in @event. @allowed: counters to which a table or the user restricts it. */
static int event_finish(const struct pfm_pmu *pmu, const struct event_code *c, uint64_t modifiers,
	uint64_t allowed, struct pfm_event *event, struct err *e)
{
	int rc = event_set_extra(pmu, c, event, e);
	char prefix[PFM_PREFIX_ROOM];

	if (rc < 0)
		return rc;
	if (pmu->software_only && !(c->code >> EVENT_CLASS))
		return err_set(e, EOPNOTSUPP, "%s", event_no_hardware);
	if (event_is_merged(pmu, c->code))
		return err_set(e, EOPNOTSUPP,
			"on this CPU it needs two merged counters, which only the kernel offers: "
			"use the perf backend");
	event->code = event_perf_code(pmu, c->code) | modifiers;
	if (event_is_nothing(pmu, event->code))
		return err_set(e, EINVAL,
			"code 0x%" PRIx64 " selects no event: see pfm list for those of %s",
			c->code, pmu->name);
	event->counters = event_counters(pmu, event->code) & allowed & pmu->all;
	if (!event->counters && pmu->ntypes && !pmu->type[0])
		return err_set(e, EOPNOTSUPP,
			"no counter common to all CPU types counts it: count CPUs with `pfm stat "
			"-C` or -a, or count threads on CPUs of one type with %s/EVENT/",
			pfm_pmu_prefix(prefix, pmu->types[0]));
	if (!event->counters)
		return err_set(e, EOPNOTSUPP, "no counter of %s%s%s counts it%s", pmu->name,
			pmu->type[0] ? ", type " : "", pmu->type,
			modifiers && event_is_pseudo(pmu, c->code)
				? ": fixed counters take only the modifiers u and k"
				: "");
	return event_check_reserved(pmu, event->code, event->counters & pmu->general, e);
}

static int event_finish_umc(const struct pfm_pmu *pmu, const struct event_row *row,
	const struct event_modifiers *m, struct pfm_event *event, struct err *e)
{
	if (m->bits || m->level)
		return err_set(e, EINVAL,
			"memory controllers count for all CPUs of a package, at all levels: leave "
			"the modifiers out");
	if (!pmu->umc)
		return err_set(e, EOPNOTSUPP,
			"only memory controllers count it, and %s has none of their counters: the "
			"msr backend offers them on Zen 4 and later, outside virtual machines",
			pmu->name);
	event->umc = true;
	event->code = row->code;
	event->level = EVENT_USER | EVENT_KERNEL;
	event->counters = pmu->umc;
	return event_check_reserved(pmu, event->code, event->counters, e);
}

/* Translates modifiers for a CCCR, which compares with a threshold: more than that, or with the
 * complement, at most that. */
static int event_set_cccr(struct pfm_event *event, uint64_t modifiers, struct err *e)
{
	uint64_t least = modifiers >> EVENT_SEL_CMASK & 0xff;

	if (!modifiers)
		return 0;
	if (least > PFM_CCCR_LEAST_MAX)
		return err_set(
			e, ERANGE, "modifier c=N: at most %d on NetBurst", PFM_CCCR_LEAST_MAX);
	event->cccr = PFM_CCCR_COMPARE | (least ? least - 1 : 0) << PFM_CCCR_THRESHOLD |
		      (modifiers & EVENT_SEL_EDGE ? PFM_CCCR_EDGE : 0) |
		      (modifiers & EVENT_SEL_INVERT ? PFM_CCCR_COMPLEMENT : 0);
	return 0;
}

/* Fills in an event that each of @escrs can have. */
static int event_finish_escr(const struct pfm_pmu *pmu, uint64_t code, uint64_t modifiers,
	uint64_t escrs, struct pfm_event *event, struct err *e)
{
	event->code = code;
	event->escrs = escrs & pmu->escrs;
	for (unsigned pmc = 0; pmc < PFM_PMU_REGS; pmc++) {
		if (!(event->escrs >> pmc & 1))
			continue;
		event->counters |= pfm_pmu_escr_counters(pmu, pmc);
		if (event_check_bits(pfm_pmu_pmc(pmu, pmc), code, "", e) < 0)
			return -e->no;
	}
	if (!event->counters)
		return err_set(e, EOPNOTSUPP, "no counter of %s counts it", pmu->name);
	return event_set_cccr(event, modifiers, e);
}

/* The level in a whole register value, as it is written to a PMC. */
static unsigned event_code_level(uint64_t code)
{
	return (code & PFM_SEL_USER ? EVENT_USER : 0) | (code & PFM_SEL_KERNEL ? EVENT_KERNEL : 0);
}

/* Takes a value of FIXED_CTR_CTRL that has the bits of one counter. */
static int event_take_fixed(const struct pfm_pmu *pmu, unsigned pmc, uint64_t value,
	struct event_code *c, struct pfm_event *event, struct err *e)
{
	for (unsigned i = 0; i < pmu->ncounters; i++) {
		const struct pfm_counter *d = &pmu->counters[i];
		uint64_t level = d->fixed < 0 ? 0 : value >> PFM_FIXED_BITS * d->fixed;

		if (d->pmc != pmc || !level || level > 3 ||
			value != level << PFM_FIXED_BITS * d->fixed)
			continue;
		event->level = (level & 1 ? EVENT_KERNEL : 0) | (level & 2 ? EVENT_USER : 0);
		*c = (struct event_code){.code = (uint64_t)(d->fixed + 1) << 8};
		return 0;
	}
	return err_set(
		e, EINVAL, "PMC %u takes the bits of one fixed counter here, such as 0x3", pmc);
}

/* Takes a value of an ESCR. */
static int event_take_escr(const struct pfm_pmu *pmu, unsigned pmc, uint64_t value,
	uint64_t modifiers, struct pfm_event *event, struct err *e)
{
	event->level = (value & PFM_ESCR_USER ? EVENT_USER : 0) |
		       (value & PFM_ESCR_KERNEL ? EVENT_KERNEL : 0);
	return event_finish_escr(pmu, value & ~PFM_ESCR_STATE, modifiers, 1ULL << pmc, event, e);
}

static bool event_is_escr(const struct pfm_pmu *pmu, uint64_t pmc)
{
	return pmc < PFM_PMU_REGS && pmu->escrs >> pmc & 1;
}

/* Resolves pmcN=VALUE: any value, counted by the PMD that PMC N selects for. */
static int event_resolve_pmc(const struct pfm_pmu *pmu, struct slice text,
	const struct event_modifiers *m, struct pfm_event *event, struct err *e)
{
	struct slice value = text, name = slice_cut(&value, '=');
	struct event_code c = {0};
	uint64_t num, allowed = 0;
	bool fixed = false;
	int rc = num_max((struct slice){name.p + 3, name.n - 3}, UINT32_MAX, &num, e);

	if (rc == 0)
		rc = num_u64(value, &c.code, e);
	if (rc < 0)
		return rc;
	if (event_is_escr(pmu, num))
		return event_take_escr(pmu, (unsigned)num, c.code, m->bits, event, e);
	for (unsigned i = 0; i < pmu->ncounters; i++) {
		if (pmu->counters[i].umc || pmu->counters[i].pmc != num)
			continue;
		allowed |= 1ULL << i;
		fixed = pmu->counters[i].fixed >= 0;
	}
	if (allowed && pmu->escrs)
		return err_set(e, EINVAL,
			"PMC %" PRIu64 " is a CCCR, which selects an ESCR: give the ESCR's value",
			num);
	if (!allowed && pfm_pmu_pmc(pmu, (unsigned)num))
		return err_set(e, EOPNOTSUPP,
			"pfm uses no PMD that PMC %" PRIu64 " of %s selects for: count by the "
			"files of a context, pmc/%" PRIu64,
			num, pmu->name, num);
	if (!allowed)
		return err_set(e, EINVAL,
			"%s has no PMC %" PRIu64 " that selects events: see pmu/pmcs of the mount",
			pmu->name, num);
	if (fixed)
		rc = event_take_fixed(pmu, (unsigned)num, c.code, &c, event, e);
	else
		event->level = event_code_level(c.code);
	c.code &= ~PFM_SEL_STATE;
	return rc ? rc : event_finish(pmu, &c, m->bits, allowed, event, e);
}

/* Resolves a code, or terms as Linux has them for PMU cpu. Returns 1 if @text is neither. */
static int event_resolve_code(const struct pfm_pmu *pmu, struct slice text,
	const struct event_modifiers *m, struct pfm_event *event, struct err *e)
{
	struct event_code c;
	int rc = event_code_parse(text, &c, e);

	if (rc == 1)
		rc = event_terms_parse(pmu->cpu.encoding, text, &c, e);
	if (rc)
		return rc;
	if (pmu->escrs)
		return err_set(e, EINVAL,
			"events of %s are values of an ESCR: put its PMC in front, as in "
			"pmc%d=VALUE",
			pmu->name, __builtin_ctzll(pmu->escrs));
	event->level = event_code_level(c.code);
	c.code &= ~PFM_SEL_STATE;
	return event_finish(pmu, &c, m->bits, event_restriction(pmu, c.code), event, e);
}

/* Cuts off SOURCE::. Returns the source, or an empty slice. */
static struct slice event_cut_source(struct slice *name)
{
	struct slice rest = *name, source = slice_cut(&rest, ':');

	if (!rest.n || rest.p[0] != ':')
		return (struct slice){name->p, 0};
	*name = (struct slice){rest.p + 1, rest.n - 1};
	return source;
}

bool event_may_be_libpfm(const struct pfm_pmu *pmu, struct slice source)
{
	return source.n || (!pmu->software_only && strcmp(pmu->backend, "sim") != 0);
}

/* Replaces an alternative name by Linux's main one. */
static struct slice event_synonym(struct slice name)
{
	static const char *const names[][2] = {{"cpu-cycles", "cycles"},
		{"branch-instructions", "branches"}, {"faults", "page-faults"},
		{"cs", "context-switches"}, {"migrations", "cpu-migrations"}};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (event_name_is(name, names[i][0]))
			return slice_of(names[i][1]);
	return name;
}

/* Finds a named event. On a hybrid CPU, architectural events also have PMU names as sources, as in
 * Linux. */
static const struct event_row *event_find(
	const struct pfm_pmu *pmu, struct slice bare, struct slice source)
{
	const struct event_row *row = event_table_find(&pmu->events, bare, source);
	bool known = false;

	for (unsigned i = 0; !row && source.n && i < pmu->events.n && !known; i++)
		known = event_row_is_of(&pmu->events.rows[i], source);
	if (row || !(known || !source.n))
		return row;
	if (source.n)
		source = slice_of("architectural");
	return event_table_find(&pmu->events, event_synonym(bare), source);
}

/* Joins the rows of a NetBurst event EVENT:MASK:MASK. False: an EVENT:MASK is missing, or no ESCR
 * has them all. */
static bool event_join(
	const struct pfm_pmu *pmu, struct slice bare, struct slice source, struct event_row *joined)
{
	struct slice masks = bare, event = slice_cut(&masks, ':');

	joined->escrs = UINT64_MAX;
	joined->code = 0;
	while (masks.n) {
		struct slice mask = slice_cut(&masks, ':');
		const struct event_row *row;
		char name[EVENT_NAME];

		if (event.n + mask.n + 2 > sizeof(name))
			return false;
		snprintf(name, sizeof(name), "%.*s:%.*s", SLICE_ARG(event), SLICE_ARG(mask));
		row = event_table_find(&pmu->events, slice_of(name), source);
		if (!row)
			return false;
		joined->escrs &= row->escrs;
		joined->code |= row->code;
	}
	return joined->code && joined->escrs;
}

/* Whether the name without the word after its last colon is an event. */
static bool event_has_modifier(const struct pfm_pmu *pmu, struct slice bare, struct slice source)
{
	while (bare.n && bare.p[bare.n - 1] != ':')
		bare.n--;
	return bare.n && event_find(pmu, (struct slice){bare.p, bare.n - 1}, source);
}

/* Refuses an event that pfm is known not to have. Returns 0 if the name may be misspelt. */
static int event_refuse_foreign(const struct pfm_pmu *pmu, struct slice name, struct err *e)
{
	struct slice bare = name, source = event_cut_source(&bare);
	const char *hint = event_hint(pmu, event_synonym(name));

	if (!hint && memchr(name.p, '/', name.n))
		hint = "with slashes, write PMU/EVENT/ or PMU/EVENT/MODIFIERS";
	if (!hint && event_has_modifier(pmu, bare, source))
		hint = "modifiers are u, k, p, e, i and c=N, see pfm-events(5)";
	return hint ? err_set(e, ENOENT, "%.*s: no such event of %s: %s", SLICE_ARG(name),
			      pmu->name, hint)
		    : 0;
}

/* Refuses an event where the kernel has no PMU. A typo is the likelier cause. */
static int event_unknown_hardware(const struct pfm_pmu *pmu, struct slice name, struct err *e)
{
	struct nearest near = {0};
	char room[NEAREST_ROOM];
	bool exact = false;
	const struct arch_event *known;

	for (unsigned i = 0; (known = arch_event_at(i)); i++) {
		exact = exact || event_name_is(event_synonym(name), known->name);
		nearest_offer(&near, event_synonym(name), known->name);
	}
	if (exact)
		return err_set(e, EOPNOTSUPP, "%s: see pfm list", event_no_hardware);
	if (near.n)
		return err_set(e, ENOENT, "%.*s: no such event: is it %s? But %s", SLICE_ARG(name),
			nearest_text(&near, room), event_no_hardware);
	return err_set(e, ENOENT, "%.*s: no such event of %s: see pfm list; %s", SLICE_ARG(name),
		pmu->name, event_no_hardware);
}

static int event_unknown(const struct pfm_pmu *pmu, struct slice name, struct err *e)
{
	struct nearest near = {0};
	char room[NEAREST_ROOM];
	struct slice bare = name, source = event_cut_source(&bare);

	if (event_refuse_foreign(pmu, name, e) < 0)
		return -e->no;
	bare = event_synonym(bare);
	for (const struct event_row *r = pmu->events.rows; r < pmu->events.rows + pmu->events.n;
		r++)
		if (event_row_is_of(r, source))
			nearest_offer(&near, bare, r->name);
	if (event_may_be_libpfm(pmu, source))
		libpfm_offer(name, &near);
	if (near.n)
		return err_set(e, ENOENT, "%.*s: no such event of %s: is it %s?", SLICE_ARG(name),
			pmu->name, nearest_text(&near, room));
	if (pmu->software_only)
		return event_unknown_hardware(pmu, name, e);
	return err_set(e, ENOENT, "%.*s: no such event of %s: see pfm list%s", SLICE_ARG(name),
		pmu->name, libpfm_version() ? "" : "; libpfm4 is missing");
}

/* The type of CPUs that @source names, by its own name, by Linux's name of their PMU, or by a name
 * of an event file that has Linux's name, too. NULL: none. */
static const char *event_source_type(const struct pfm_pmu *pmu, struct slice source)
{
	char prefix[PFM_PREFIX_ROOM];

	for (unsigned t = 0; source.n && t < pmu->ntypes; t++) {
		pfm_pmu_prefix(prefix, pmu->types[t]);
		if (slice_is(source, prefix) || slice_is(source, pmu->types[t]))
			return pmu->types[t];
		for (unsigned i = 0; i < pmu->events.n; i++)
			if (event_row_is_of(&pmu->events.rows[i], source) &&
				event_row_is_of(&pmu->events.rows[i], slice_of(prefix)))
				return pmu->types[t];
	}
	return NULL;
}

/* Cuts off the prefix of the PMU's own type, or Linux's name of the PMU if all CPUs are alike.
 * Fails for events of another type. */
static int event_cut_type(const struct pfm_pmu *pmu, struct slice *text, struct err *e)
{
	struct slice bare = *text, source = event_cut_source(&bare);
	const char *type = event_source_type(pmu, source);
	char prefix[PFM_PREFIX_ROOM];

	if (!type) {
		if (slice_is(source, "cpu") && bare.n)
			*text = bare;
		return 0;
	}
	if (!pmu->type[0])
		return err_set(e, EOPNOTSUPP,
			"only CPUs of type %s count it, so threads and all CPUs together cannot: "
			"use `pfm stat`, which counts each type separately",
			type);
	if (strcmp(type, pmu->type) != 0)
		return err_set(e, EOPNOTSUPP, "only CPUs of type %s count it, not those of type %s",
			type, pmu->type);
	if (slice_is(source, type) || slice_is(source, pfm_pmu_prefix(prefix, type)))
		*text = bare;
	return 0;
}

static int event_resolve_name(const struct pfm_pmu *pmu, struct slice name,
	const struct event_modifiers *m, struct pfm_event *event, struct err *e)
{
	struct slice bare = name, source = event_cut_source(&bare);
	const struct event_row *row = event_find(pmu, bare, source);
	struct event_row joined;
	struct event_code c;
	int rc;

	if (row && row->umc)
		return event_finish_umc(pmu, row, m, event, e);
	if (!row && event_join(pmu, bare, source, &joined))
		row = &joined;
	if (row && row->escrs)
		return event_finish_escr(pmu, row->code, m->bits, row->escrs, event, e);
	if (row) {
		c = (struct event_code){row->code, row->extra, row->has_extra};
		return event_finish(pmu, &c, m->bits, event_row_counters(pmu, row), event, e);
	}
	rc = event_may_be_libpfm(pmu, source) ? libpfm_encode(pmu->cpu.encoding, name, &c, e)
					      : -ENOENT;
	if (rc == -ENOENT)
		return event_unknown(pmu, name, e);
	/* Without a PMU, other unit masks would not help. */
	if (rc < 0 && pmu->software_only)
		return err_set(e, EOPNOTSUPP, "%s", event_no_hardware);
	if (rc < 0)
		return rc;
	return event_finish(pmu, &c, m->bits, event_restriction(pmu, c.code), event, e);
}

/* Converts perf's PMU/EVENT/MODIFIERS to PMU::EVENT:MODIFIERS. Returns the text to resolve. */
static struct slice event_without_slashes(struct slice text, char room[EVENT_TEXT + 2])
{
	struct slice rest = text, pmu = slice_cut(&rest, '/'), name = slice_cut(&rest, '/');

	if (pmu.n + name.n + 2 > text.n || !pmu.n || !name.n)
		return text;
	snprintf(room, EVENT_TEXT + 2, "%.*s::%.*s%s%.*s", (int)pmu.n, pmu.p, (int)name.n, name.p,
		rest.n ? ":" : "", (int)rest.n, rest.p);
	return slice_of(room);
}

const char *event_type(const struct pfm_pmu *pmu, const char *text)
{
	char room[EVENT_TEXT + 2];
	struct slice bare = event_without_slashes(slice_of(text), room);

	return event_source_type(pmu, event_cut_source(&bare));
}

/* PEBS and IBS are the kernel's. Polling finds where the program is then, whatever the counter. */
static int event_set_precise(
	const struct pfm_pmu *pmu, unsigned precise, struct pfm_event *event, struct err *e)
{
	if (!event_is_perf(pmu))
		return err_set(e, EOPNOTSUPP,
			"the %s backend has no precise samples: leave p out, or mount with "
			"perfmonfs --backend=perf",
			pmu->backend);
	if (event->code >> EVENT_CLASS)
		return err_set(
			e, EINVAL, "samples of the kernel's own events are exact: leave p out");
	event->code |= (uint64_t)precise << EVENT_PRECISE;
	return 0;
}

int event_resolve(
	const struct pfm_pmu *pmu, const char *text, struct pfm_event *event, struct err *e)
{
	struct slice rest = slice_of(text);
	char room[EVENT_TEXT + 2];
	struct event_modifiers m;
	int rc;

	*event = (struct pfm_event){.extra_pmc = -1};
	if (!rest.n)
		return err_set(e, EINVAL, "an event needs a name: see pfm list");
	if (rest.n >= sizeof(event->name))
		return err_set(e, EINVAL, "'%.*s': an event has at most %zu bytes", SLICE_ARG(rest),
			sizeof(event->name) - 1);
	memcpy(event->name, text, rest.n + 1);
	rest = event_without_slashes(rest, room);
	rc = event_cut_type(pmu, &rest, e);
	if (rc < 0)
		return err_prefix(e, "%s", event->name);
	if (pmu->type[0])
		snprintf(event->name, sizeof(event->name), "%.*s", (int)rest.n, rest.p);
	rc = event_code_modifiers(&rest, &m, e);
	if (rc == 0 && slice_starts(rest, "pmc") && memchr(rest.p, '=', rest.n))
		rc = event_resolve_pmc(pmu, rest, &m, event, e);
	else if (rc == 0)
		rc = event_resolve_code(pmu, rest, &m, event, e);
	if (rc == 1)
		rc = event_resolve_name(pmu, rest, &m, event, e);
	if (m.level)
		event->level = m.level;
	if (rc == 0 && m.precise)
		rc = event_set_precise(pmu, m.precise, event, e);
	if (rc == 0 || rc == -ENOENT)
		return rc;
	return err_prefix(e, "%.*s", SLICE_ARG(slice_of(text)));
}

/* Whether the event can be counted at one level. Of the kernel's own events, only faults can. */
static bool event_has_levels(const struct pfm_pmu *pmu, const struct pfm_event *event)
{
	if (!event_is_perf(pmu) || event->code >> EVENT_CLASS != EVENT_SOFTWARE)
		return true;
	/* A code is the kernel's number plus 1. */
	switch ((event->code & 0xff) - 1) {
	case PERF_COUNT_SW_PAGE_FAULTS:
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
	case PERF_COUNT_SW_ALIGNMENT_FAULTS:
	case PERF_COUNT_SW_EMULATION_FAULTS:
		return true;
	default:
		return false;
	}
}

/* Whether the kernel can sample the event at user level, although it cannot count it there. */
static bool event_is_clock(const struct pfm_event *event)
{
	uint64_t number = (event->code & 0xff) - 1;

	return number == PERF_COUNT_SW_CPU_CLOCK || number == PERF_COUNT_SW_TASK_CLOCK;
}

int event_check_level(const struct pfm_pmu *pmu, const struct pfm_event *event, bool sampled,
	unsigned allowed, struct err *e)
{
	const unsigned both = EVENT_USER | EVENT_KERNEL;
	const bool clock = sampled && event_is_clock(event);

	if (event_is_perf(pmu) && event->code >> EVENT_PRECISE & EVENT_PRECISE_MAX && !sampled)
		return err_set(e, EINVAL,
			"%s: precise samples are those of pfm record: leave p out, as counts are "
			"the same",
			event->name);
	if (event_has_levels(pmu, event) || (clock && event->level == EVENT_USER))
		return 0;
	if (event->level && event->level != both)
		return err_set(e, EINVAL,
			"%s: the kernel counts it only at user and kernel level together: leave "
			"out the level",
			event->name);
	if (allowed != both)
		return err_set(e, EACCES,
			"%s: the kernel counts it only at user and kernel level together, and %s "
			"grants you only user level: have root change that, or choose another "
			"event, such as %s",
			event->name, pfm_pmu_level_rule(pmu),
			clock ? "task-clock:u" : "page-faults");
	return 0;
}

static uint64_t event_select(const struct pfm_event *event, unsigned level)
{
	return event->code | PFM_SEL_ENABLE | (level & EVENT_USER ? PFM_SEL_USER : 0) |
	       (level & EVENT_KERNEL ? PFM_SEL_KERNEL : 0);
}

static uint64_t event_fixed_bits(int fixed, unsigned level)
{
	uint64_t bits = (level & EVENT_KERNEL ? 1 : 0) | (level & EVENT_USER ? 2 : 0);

	return bits << PFM_FIXED_BITS * fixed;
}

/* The PMC value by which counter @d counts @event. The caller clears reserved bits. */
static uint64_t event_value(
	const struct pfm_event *event, const struct pfm_counter *d, unsigned level)
{
	if (d->umc)
		return event->code | PFM_UMC_ENABLE;
	return d->fixed < 0 ? event_select(event, level) : event_fixed_bits(d->fixed, level);
}

/* Adds bits to the setting of a PMC, which may already exist. Returns the number of settings. */
static unsigned event_add_setting(
	struct event_setting *out, unsigned n, unsigned pmc, uint64_t bits)
{
	unsigned i = 0;

	while (i < n && out[i].pmc != pmc)
		i++;
	if (i == n)
		out[n++] = (struct event_setting){pmc, 0};
	out[i].value |= bits;
	return n;
}

/* Adds the ESCR and the CCCR of an event. Returns the number of settings. */
static unsigned event_add_escr(const struct pfm_pmu *pmu, const struct pfm_event *event,
	const struct event_place *at, unsigned level, struct event_setting *out, unsigned n)
{
	const struct pfm_pmc *cccr = pfm_pmu_pmc(pmu, pmu->counters[at->row].pmc);
	uint64_t choice = (uint64_t)pfm_pmu_choice(cccr, (unsigned)at->escr);

	n = event_add_setting(out, n, (unsigned)at->escr,
		event->code | (level & EVENT_USER ? PFM_ESCR_USER : 0) |
			(level & EVENT_KERNEL ? PFM_ESCR_KERNEL : 0));
	return event_add_setting(out, n, cccr->num,
		PFM_CCCR_ENABLE | PFM_CCCR_ANY_THREAD | event->cccr |
			choice << __builtin_ctzll(cccr->escr_select));
}

unsigned event_program(const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n,
	const struct event_place *places, unsigned level,
	struct event_setting out[EVENT_MAX_SETTINGS])
{
	unsigned nout = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct pfm_event *event = &events[i];
		const struct pfm_counter *d = &pmu->counters[places[i].row];
		unsigned at = event->level ? event->level : level;
		uint64_t value = event_value(event, d, at);
		uint64_t reserved = pfm_pmu_pmc(pmu, d->pmc)->rsvd;

		if (places[i].escr >= 0) {
			nout = event_add_escr(pmu, event, &places[i], at, out, nout);
			continue;
		}
		for (unsigned k = 0; k < d->n; k++)
			nout = event_add_setting(
				out, nout, pfm_counter_pmc(d, k), value & ~reserved);
		/* P6: the enable bit of the first select starts both counters. */
		if (d->fixed < 0 && !d->umc && reserved & PFM_SEL_ENABLE)
			nout = event_add_setting(out, nout, 0, PFM_SEL_ENABLE);
		if (event->extra_pmc >= 0)
			nout = event_add_setting(
				out, nout, (unsigned)event->extra_pmc, event->extra);
	}
	return nout;
}
