// SPDX-License-Identifier: MIT
/* pfm diff: what has changed from one recording to another. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pfm/command.h"
#include "tools/pfm/samples/reports.h"

enum {
	DIFF_LIMIT = OPTION_LONG + 1,
	DIFF_FOLDED,
	DIFF_FLAMEGRAPH,
	DIFF_NO_DEMANGLE,
	DIFF_NO_INLINE
};

struct diff_options {
	const char *folded, *flamegraph; /* files, "-" for stdout; NULL: not wanted */
	double at_least;
	unsigned names;    /* enum recording_names */
	const char *event; /* NULL: all in the table, the first one in OUTPUTs */
	struct recording *r[2];
};

static const struct option_row diff_options_rows[] = {
	{'e', "event", "EVENT", "one event of several; default: all, in OUTPUTs the first", 0},
	{DIFF_LIMIT, "percent-limit", "P", "leave out what has changed by less points; default: 0",
		0},
	{DIFF_FOLDED, "folded", "[FILE]",
		"lines COMMAND;FUNCTION BEFORE AFTER, as flamegraph.pl reads them", 0},
	{DIFF_FLAMEGRAPH, "flamegraph", "FILE",
		"a flame graph of the second recording: red has grown, blue has shrunk", 0},
	{DIFF_NO_INLINE, "no-inline", NULL, "count what is inlined to the function around it", 0},
	{DIFF_NO_DEMANGLE, "no-demangle", NULL, "names of C++ and Rust as the linker has them", 0},

	/* perf diff */
	{'f', "force", NULL, NULL, OPTION_DEFAULT},
	{'c', "compute", "HOW", "the table has shares, their change and its noise", OPTION_FOREIGN},
	{'o', "order", "COLUMN", "the largest change is first", OPTION_FOREIGN},
	{0},
};

static int diff_option(struct diff_options *o, int opt, struct err *e)
{
	switch (opt) {
	case 'e':
		return options_set_once(&o->event, "-e", optarg, e);
	case DIFF_LIMIT:
		return report_parse_limit(&o->at_least, optarg, e);
	case DIFF_FOLDED:
		o->folded = optarg ? optarg : "-";
		return 0;
	case DIFF_FLAMEGRAPH:
		o->flamegraph = optarg;
		return 0;
	case DIFF_NO_INLINE:
		o->names &= ~(unsigned)RECORDING_INLINED;
		return 0;
	default:
		o->names &= ~(unsigned)RECORDING_DEMANGLE;
		return 0;
	}
}

static int diff_to_table(const void *of, FILE *out, struct err *e)
{
	const struct diff_options *o = of;

	return diff_write((const struct recording *const[]){o->r[0], o->r[1]}, o->at_least, out, e);
}

static int diff_to_folded(const void *of, FILE *out, struct err *e)
{
	const struct diff_options *o = of;

	return folded_write_diff((const struct recording *const[]){o->r[0], o->r[1]}, out, e);
}

static int diff_to_flamegraph(const void *of, FILE *out, struct err *e)
{
	const struct diff_options *o = of;

	return flamegraph_write_diff((const struct recording *const[]){o->r[0], o->r[1]}, out, e);
}

/* Shows event @i of the second recording in both, if the user wants it and the first one has it. */
static bool diff_choose(const struct diff_options *o, unsigned i)
{
	const char *name = o->r[1]->events[i].name;

	if (o->event && strcmp(o->event, name) != 0)
		return false;
	for (unsigned j = 0; j < o->r[0]->nevents; j++)
		if (strcmp(o->r[0]->events[j].name, name) == 0) {
			recording_choose(o->r[0], j);
			recording_choose(o->r[1], i);
			return true;
		}
	return false;
}

static int diff_no_event(const struct diff_options *o, struct err *e)
{
	const char *before = o->r[0]->events[0].name, *after = o->r[1]->events[0].name;

	if (o->event)
		return err_set(e, ENOENT,
			"-e %s: not both recordings have that event: the first one has %s%s, the "
			"second one %s%s",
			o->event, before, o->r[0]->nevents > 1 ? " and others" : "", after,
			o->r[1]->nevents > 1 ? " and others" : "");
	return err_set(e, EINVAL,
		"the first recording is of %s and the second of %s: record both with the same -e",
		before, after);
}

/* Writes a table for each event of both recordings. */
static int diff_write_tables(const struct diff_options *o, struct err *e)
{
	unsigned tables = 0;

	for (unsigned i = 0; i < o->r[1]->nevents; i++) {
		if (!diff_choose(o, i))
			continue;
		if (tables++)
			putchar('\n');
		if (diff_to_table(o, stdout, e) < 0)
			return -e->no;
	}
	return tables ? 0 : diff_no_event(o, e);
}

static int diff_write_all(const struct diff_options *o, struct err *e)
{
	unsigned i = 0;

	if (!o->folded && !o->flamegraph)
		return diff_write_tables(o, e);
	while (i < o->r[1]->nevents && !diff_choose(o, i))
		i++;
	if (i == o->r[1]->nevents)
		return diff_no_event(o, e);
	if (o->folded && report_to(o->folded, REPORT_MODE, diff_to_folded, o, e) < 0)
		return -e->no;
	return o->flamegraph ? report_to(o->flamegraph, REPORT_MODE, diff_to_flamegraph, o, e) : 0;
}

static int diff_run(int argc, char **argv, struct err *e)
{
	struct diff_options o = {.names = RECORDING_DEFAULT};
	struct recording before, after;
	int opt, rc;

	while ((opt = options_next(&cmd_diff, argc, argv, e)) != 0)
		if (opt < 0 || diff_option(&o, opt, e) < 0)
			return -e->no;
	if (argc - optind != 2)
		return err_set(
			e, EINVAL, "give two recordings, the older one first; see `pfm help diff`");
	rc = recording_open(&before, argv[optind], o.names, e);
	if (rc < 0)
		return rc;
	recording_drop_addresses(&before);
	rc = recording_open(&after, argv[optind + 1], o.names, e);
	if (rc == 0) {
		recording_drop_addresses(&after);
		o.r[0] = &before;
		o.r[1] = &after;
		rc = diff_write_all(&o, e);
		recording_close(&after);
	}
	recording_close(&before);
	return rc;
}

const struct pfm_command cmd_diff = {
	.name = "diff",
	.summary = "show what has changed from one recording to another",
	.usage = "Usage: pfm diff BEFORE AFTER [--folded[=FILE]] [--flamegraph=FILE]\n"
		 "Show the functions whose shares differ most in two recordings of pfm record.\n"
		 "A * marks changes that are larger than chance explains.\n",
	.options = diff_options_rows,
	.run = diff_run,
};
