// SPDX-License-Identifier: MIT
/* pfm diff: what has changed from one recording to another. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

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
	unsigned names; /* enum recording_names */
	const struct recording *r[2];
};

static const struct option_row diff_options_rows[] = {
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

	return diff_write(o->r, o->at_least, out, e);
}

static int diff_to_folded(const void *of, FILE *out, struct err *e)
{
	return folded_write_diff(((const struct diff_options *)of)->r, out, e);
}

static int diff_to_flamegraph(const void *of, FILE *out, struct err *e)
{
	return flamegraph_write_diff(((const struct diff_options *)of)->r, out, e);
}

static int diff_write_all(const struct diff_options *o, struct err *e)
{
	if (diff_check(o->r, e) < 0)
		return -e->no;
	if (!o->folded && !o->flamegraph)
		return diff_to_table(o, stdout, e);
	if (o->folded && report_to(o->folded, diff_to_folded, o, e) < 0)
		return -e->no;
	return o->flamegraph ? report_to(o->flamegraph, diff_to_flamegraph, o, e) : 0;
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
	rc = recording_open(&after, argv[optind + 1], o.names, e);
	if (rc == 0) {
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
