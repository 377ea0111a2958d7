// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "tools/pfm/command.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/events/event_code.h"
#include "tools/pfm/events/event_name.h"
#include "tools/pfm/events/libpfm.h"
#include "tools/pfm/load_pmu.h"

/* Fields of an event select. */
enum { UMASK = 8, EVENT_HIGH = 32, CLASS = 56 };

/* Fields of an ESCR. */
enum { ESCR_TAG_ENABLE = 1 << 4, ESCR_TAG = 5, ESCR_MASK = 9, ESCR_EVENT = 25 };

/* Options without a letter. */
enum { DECODE_TYPE = OPTION_LONG + 1, DECODE_PMU };

static const struct option_row decode_options[] = {
	TYPE_OPTION(DECODE_TYPE),
	MOUNT_OPTION,
	{DECODE_PMU, "pmu", "PMU",
		"also search this PMU of libpfm4, such as skl (default: this machine's)", 0},
	{0},
};

/*
 * Whether to search libpfm4. The machine's PMU is not the simulated one, unless the user says so.
 */
static bool decode_searches_libpfm(
	const struct pfm_pmu *pmu, const struct pfm_event *event, const char *libpfm)
{
	if (!(event->counters & pmu->general) || pmu->cpu.encoding == ARCH_NONE)
		return false;
	return libpfm[0] || strcmp(pmu->backend, "sim") != 0;
}

static void decode_print_name(void *arg, const char *name, const char *desc)
{
	unsigned *n = arg;

	(void)desc;
	printf("%s%s", (*n)++ ? ", " : "", name);
}

static bool decode_is_named(const struct pfm_pmu *pmu, const struct pfm_event *event)
{
	char room[EVENT_TEXT];

	for (unsigned i = 0; i < pmu->events.n; i++)
		if (event_name_matches(pmu, event, &pmu->events.rows[i]))
			return true;
	return *event_name_join(pmu, event, room);
}

static void decode_print_names(
	const struct pfm_pmu *pmu, const struct pfm_event *event, const char *libpfm)
{
	char room[EVENT_TEXT];
	unsigned n = 0;

	for (const struct event_row *r = pmu->events.rows; r < pmu->events.rows + pmu->events.n;
		r++)
		if (event_name_matches(pmu, event, r))
			decode_print_name(&n, r->name, NULL);
	if (decode_searches_libpfm(pmu, event, libpfm))
		libpfm_each_of_code(pmu->cpu.encoding, slice_of(libpfm),
			event->code & ~EVENT_SEL_MODIFIERS, decode_print_name, &n);
	if (!n && *event_name_join(pmu, event, room))
		decode_print_name(&n, room, NULL);
	puts(n ? "" : "no event with a name");
}

/* Prints the fields of an ESCR value. */
static void decode_print_escr(const struct pfm_event *event)
{
	char room[PFM_COUNTERS_ROOM];

	printf("  event 0x%" PRIx64 ", event mask 0x%" PRIx64, event->code >> ESCR_EVENT & 0x3f,
		event->code >> ESCR_MASK & 0xffff);
	if (event->code & ESCR_TAG_ENABLE)
		printf(", tag 0x%" PRIx64, event->code >> ESCR_TAG & 0xf);
	printf(", PMC %s\n", pfm_pmu_escrs(room, event->escrs));
}

/* Prints the fields of an event select. */
static void decode_print_select(uint64_t code)
{
	uint64_t event = (code & 0xff) | (code >> EVENT_HIGH & 0xf) << 8;

	printf("  event 0x%" PRIx64 ", unit mask 0x%" PRIx64, event, code >> UMASK & 0xff);
	if (code >> EVENT_SEL_CMASK & 0xff)
		printf(", counter mask %" PRIu64, code >> EVENT_SEL_CMASK & 0xff);
	printf("%s%s", code & EVENT_SEL_INVERT ? ", inverted" : "",
		code & EVENT_SEL_EDGE ? ", edge" : "");
	if (code >> CLASS)
		printf(", class %" PRIu64, code >> CLASS);
	puts("");
}

static void decode_print(
	const struct pfm_pmu *pmu, const struct pfm_event *event, const char *libpfm)
{
	static const char *const levels[] = {"no level is selected: it does not count",
		"user level", "kernel level", "user and kernel level"};
	char room[PFM_COUNTERS_ROOM];

	decode_print_names(pmu, event, libpfm);
	if (event->escrs)
		decode_print_escr(event);
	else if (event->counters & pmu->general)
		decode_print_select(event->code);
	printf("  %s, PMD %s\n", levels[event->level],
		pfm_pmu_counters(pmu, room, event->counters));
}

static int decode_of(const struct pfm_pmu *pmu, const char *text, const char *libpfm, struct err *e)
{
	char prefix[PFM_PREFIX_ROOM];
	struct pfm_event event;
	int rc = event_resolve(pmu, text, &event, e);

	if (rc < 0)
		return rc;
	if (pmu->type[0])
		printf("%s: ", pfm_pmu_prefix(prefix, pmu->type));
	decode_print(pmu, &event, libpfm);
	return 0;
}

/* Decodes @value for each ESCR in which it has a name, as the value does not tell its ESCR. */
static int decode_escrs(const struct pfm_pmu *pmu, uint64_t value, struct err *e)
{
	unsigned found = 0;

	for (unsigned pmc = 0; pmc < PFM_PMU_REGS; pmc++) {
		struct pfm_event event;
		char text[40];

		snprintf(text, sizeof(text), "pmc%u=0x%" PRIx64, pmc, value);
		if (!(pmu->escrs >> pmc & 1) || event_resolve(pmu, text, &event, e) < 0 ||
			!decode_is_named(pmu, &event))
			continue;
		printf("pmc%u: ", pmc);
		decode_print(pmu, &event, "");
		found++;
	}
	*e = (struct err){0};
	if (!found)
		puts("no event with a name");
	return 0;
}

/* Parses VALUE or pmcN=VALUE. A name is for encode. */
static int decode_parse(const char *text, uint64_t *v, struct err *e)
{
	struct slice value = slice_of(text), name = slice_cut(&value, '=');

	if (num_u64(value.n ? value : name, v, e) == 0)
		return 0;
	if (value.n || (*text | 0x20) < 'a' || (*text | 0x20) > 'z')
		return -e->no;
	return err_set(e, EINVAL,
		"%.60s is not a value such as 0x4300c0: `pfm encode %.60s` prints the value of an "
		"event, and pfm decode finds the event of a value",
		text, text);
}

/* Decodes a value for @pmu, or if that is NULL, for each type of CPUs that can count it. */
static int decode_one(const struct pmus *pmus, const struct pfm_pmu *pmu, const char *text,
	const char *libpfm, struct err *e)
{
	bool any = false;
	uint64_t v;

	if (decode_parse(text, &v, e) < 0)
		return -e->no;
	if (pmu && pmu->escrs && !strchr(text, '='))
		return decode_escrs(pmu, v, e);
	if (pmu)
		return decode_of(pmu, text, libpfm, e);
	for (unsigned i = 0; i < pmus->ntypes; i++)
		any |= decode_of(&pmus->types[i], text, libpfm, e) == 0;
	if (any)
		*e = (struct err){0};
	return any ? 0 : -e->no;
}

static void decode_count(void *arg, const char *name, const char *desc)
{
	(void)name;
	(void)desc;
	++*(unsigned *)arg;
}

/* Checks that libpfm4 has events of the PMU that the user names. */
static int decode_check_libpfm(const char *libpfm, struct err *e)
{
	unsigned n = 0;

	if (libpfm[0] && !libpfm_version())
		return err_set(e, EOPNOTSUPP, "--pmu: libpfm4 is missing: install it");
	if (libpfm[0])
		libpfm_each(slice_of(libpfm), decode_count, NULL, &n);
	if (libpfm[0] && !n)
		return err_set(e, EINVAL, "--pmu: libpfm4 has no PMU '%s'", libpfm);
	return 0;
}

static int decode_run(int argc, char **argv, struct err *e)
{
	const char *mount = NULL, *libpfm = "", *type = NULL;
	const struct pfm_pmu *pmu;
	struct pmus pmus;
	int c, rc;

	while ((c = options_next(&cmd_decode, argc, argv, e)) > 0)
		*(c == 'm' ? &mount : c == DECODE_PMU ? &libpfm : &type) = optarg;
	if (c < 0)
		return c;
	if (optind == argc)
		return err_set(e, EINVAL, "give a value; see pfm help decode");
	for (int i = optind; i < argc; i++) {
		uint64_t ignored;

		if (decode_parse(argv[i], &ignored, e) < 0)
			return -e->no;
	}
	rc = decode_check_libpfm(libpfm, e);
	if (rc == 0)
		rc = load_pmus_of(mount, &pmus, e);
	if (rc < 0)
		return rc;
	pmu = pmus.ntypes ? NULL : &pmus.common;
	if (type)
		rc = pmus_find(&pmus, type, &pmu, e);
	for (int i = optind; rc == 0 && i < argc; i++)
		rc = decode_one(&pmus, pmu, argv[i], libpfm, e);
	pmus_free(&pmus);
	return rc;
}

const struct pfm_command cmd_decode = {
	.name = "decode",
	.summary = "show which event a PMC value counts",
	.usage = "Usage: pfm decode [-m DIR] [--pmu=PMU] [--type=TYPE] VALUE...\n"
		 "Show which event a PMC value counts, at which level, and which PMDs can "
		 "count\nit. pmcN=VALUE is a value of PMC N: pmc16=0x3.\n",
	.options = decode_options,
	.run = decode_run,
};
