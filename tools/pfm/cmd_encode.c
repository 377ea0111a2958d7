// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "tools/pfm/command.h"
#include "tools/pfm/events/assign.h"
#include "tools/pfm/load_pmu.h"

struct encode_options {
	const char *mount;
	bool regs;
};

static const struct option long_options[] = {
	MOUNT_OPTION_LONG,
	{"regs", no_argument, NULL, 'r'},
	{0},
};

static int encode_parse_options(int argc, char **argv, struct encode_options *o, struct err *e)
{
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "+" MOUNT_OPTION_LETTER "r", long_options, NULL)) !=
		-1) {
		if (c == 'm')
			o->mount = optarg;
		else if (c == 'r')
			o->regs = true;
		else
			return err_set(e, EINVAL, "see pfm help encode");
	}
	return optind < argc ? 0 : err_set(e, EINVAL, "give an event; see pfm help encode");
}

/* The value for a PMC of an event select if there is one that counts it, since these are alike. */
static void encode_print_value(const struct pfm_pmu *pmu, const struct pfm_event *event)
{
	uint64_t general = event->counters & pmu->general;
	int pmd = __builtin_ctzll(general ? general : event->counters);
	struct event_setting out[EVENT_MAX_SETTINGS];

	event_program(pmu, event, 1, &pmd, EVENT_USER | EVENT_KERNEL, out);
	printf("0x%" PRIx64 "\n", out[0].value);
}

static int encode_print_regs(
	const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n, struct err *e)
{
	struct event_setting out[EVENT_MAX_SETTINGS];
	int pmds[EVENT_MAX];
	uint32_t conflict;
	int rc = assign_events(pmu, events, n, pmu->all, pmds, &conflict, e);

	if (rc < 0)
		return rc;
	n = event_program(pmu, events, n, pmds, EVENT_USER | EVENT_KERNEL, out);
	for (unsigned i = 0; i < n; i++)
		printf("pmc%u 0x%" PRIx64 "\n", out[i].pmc, out[i].value);
	return 0;
}

static int encode_events(const struct pfm_pmu *pmu, int argc, char **argv, bool regs, struct err *e)
{
	struct pfm_event events[EVENT_MAX];

	if (argc > EVENT_MAX)
		return err_set(e, EINVAL, "more than %d events", EVENT_MAX);
	for (int i = 0; i < argc; i++) {
		int rc = event_resolve(pmu, argv[i], &events[i], e);

		if (rc < 0)
			return rc;
	}
	if (regs)
		return encode_print_regs(pmu, events, (unsigned)argc, e);
	for (int i = 0; i < argc; i++)
		encode_print_value(pmu, &events[i]);
	return 0;
}

static int encode_run(int argc, char **argv, struct err *e)
{
	struct encode_options o = {0};
	struct pfm_pmu pmu;
	int rc = encode_parse_options(argc, argv, &o, e);

	if (rc == 0)
		rc = load_pmu_of(o.mount, &pmu, e);
	if (rc < 0)
		return rc;
	rc = encode_events(&pmu, argc - optind, argv + optind, o.regs, e);
	pfm_pmu_free(&pmu);
	return rc;
}

const struct pfm_command cmd_encode = {
	.name = "encode",
	.summary = "print the value of a PMC that counts an event",
	.usage = "Usage: pfm encode [-r] [-m DIR] EVENT...\n"
		 "Print the value of a PMC that counts each event, in a line each, for\n"
		 "echo VALUE > pmc/0.\n"
		 "\n"
		 "  -r, --regs               choose counters for all events together, and print\n"
		 "                           lines for the file regs of a "
		 "context\n" MOUNT_OPTION_USAGE "\n"
		 "An event without :u or :k is counted at user and kernel level.\n"
		 "pfm-events(5) explains events, `pfm list` lists them.\n",
	.run = encode_run,
};
