// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/pfm/command.h"
#include "tools/pfm/encode.h"
#include "tools/pfm/events/assign.h"
#include "tools/pfm/events/event_terms.h"

struct encode_options {
	const char *mount;
	const char *type; /* of CPUs; NULL: as the events name it */
	bool regs;
};

/* Options without a letter. */
enum { ENCODE_TYPE = OPTION_LONG + 1 };

static const struct option_row encode_options_rows[] = {
	{'r', "regs", NULL,
		"choose counters for all events together and print lines for a context's regs file",
		0},
	TYPE_OPTION(ENCODE_TYPE),
	MOUNT_OPTION,
	{'e', "event", "EVENT", "give only the event: pfm encode EVENT", OPTION_FOREIGN},
	{0},
};

static int encode_parse_options(int argc, char **argv, struct encode_options *o, struct err *e)
{
	int c;

	while ((c = options_next(&cmd_encode, argc, argv, e)) != 0) {
		if (c < 0)
			return c;
		if (c == 'm')
			o->mount = optarg;
		else if (c == 'r')
			o->regs = true;
		else
			o->type = optarg;
	}
	return optind < argc ? 0 : err_set(e, EINVAL, "give an event; see pfm help encode");
}

static int encode_print_value(
	const struct pfm_pmu *pmu, const struct pfm_event *event, struct err *e)
{
	struct event_setting out[EVENT_MAX_SETTINGS];
	int n = encode_value(pmu, event, out, e);

	if (n < 0)
		return n;
	if (n > 1)
		printf("pmc%u=0x%" PRIx64 " pmc%u=0x%" PRIx64 "\n", out[0].pmc, out[0].value,
			out[1].pmc, out[1].value);
	else
		printf("0x%" PRIx64 "\n", out[0].value);
	return 0;
}

static int encode_print_regs(
	const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n, struct err *e)
{
	struct event_setting out[EVENT_MAX_SETTINGS];
	struct event_place places[EVENT_MAX];
	int rc = assign_events(pmu, events, n, pmu->all, places, e);

	if (rc < 0)
		return rc;
	n = event_program(pmu, events, n, places, EVENT_USER | EVENT_KERNEL, out);
	for (unsigned i = 0; i < n; i++)
		printf("pmc%u 0x%" PRIx64 "\n", out[i].pmc, out[i].value);
	return 0;
}

static bool encode_is_list(const char *name)
{
	struct slice rest = slice_of(name);

	event_terms_cut(&rest);
	return rest.n;
}

static int encode_events(
	const struct pmus *pmus, const struct encode_options *o, char *const *names, struct err *e)
{
	const char *type =
		o->regs && !o->type ? encode_find_type(pmus, (const char *const *)names) : o->type;
	const struct pfm_pmu *pmu[EVENT_MAX];
	struct pfm_event events[EVENT_MAX];
	unsigned n = 0;

	for (; names[n]; n++)
		if (n == EVENT_MAX)
			return err_set(e, EINVAL, "more than %d events", EVENT_MAX);
		else if (encode_is_list(names[n]))
			return err_set(e, EINVAL, "%.60s: separate events with spaces, not commas",
				names[n]);
		else if (encode_find_pmu(pmus, type, names[n], &pmu[n], e) < 0 ||
			 event_resolve(pmu[n], names[n], &events[n], e) < 0)
			return -e->no;
	if (o->regs)
		return encode_print_regs(pmu[0], events, n, e);
	for (unsigned i = 0; i < n; i++)
		if (encode_print_value(pmu[i], &events[i], e) < 0)
			return -e->no;
	return 0;
}

static int encode_run(int argc, char **argv, struct err *e)
{
	struct encode_options o = {0};
	struct pmus pmus;
	int rc = encode_parse_options(argc, argv, &o, e);

	if (rc == 0)
		rc = load_pmus_of(o.mount, &pmus, e);
	if (rc < 0)
		return rc;
	rc = encode_events(&pmus, &o, argv + optind, e);
	pmus_free(&pmus);
	return rc;
}

const struct pfm_command cmd_encode = {
	.name = "encode",
	.summary = "print the PMC value that counts an event",
	.usage = "Usage: pfm encode [-r] [--type=TYPE] [-m DIR] EVENT...\n"
		 "Print for each event a line with the PMC value that counts it, for\necho VALUE > "
		 "pmc/0. On NetBurst an event takes two PMCs: pmcN=VALUE of both.\n",
	.options = encode_options_rows,
	.notes = "An event without :u or :k is counted at user and kernel level.\n"
		 "pfm-events(5) explains events, `pfm list` lists them.\n",
	.run = encode_run,
};
