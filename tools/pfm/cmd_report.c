// SPDX-License-Identifier: MIT
/* pfm report: what pfm record has written, for people or for other programs. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/pfm/command.h"
#include "tools/pfm/samples/reports.h"
#include "tools/pfm/text/usage.h"

/* The outputs besides the texts for people, which are written if none is wanted. */
enum report_output {
	REPORT_FOLDED,
	REPORT_FLAMEGRAPH,
	REPORT_PERF_SCRIPT,
	REPORT_PPROF,
	REPORT_FIREFOX,
	REPORT_OUTPUTS
};

static int (*const report_writers[REPORT_OUTPUTS])(
	const struct recording *r, FILE *out, struct err *e) = {
	[REPORT_FOLDED] = folded_write,
	[REPORT_PERF_SCRIPT] = perf_script_write,
	[REPORT_PPROF] = pprof_write,
	[REPORT_FIREFOX] = firefox_write,
};

struct report_options {
	const char *output[REPORT_OUTPUTS]; /* the file, "-" for stdout; NULL: not wanted */
	const char *file;
	struct flat_keys keys;
	bool tree;
	struct tree_options tree_options;
	double at_least; /* percent; negative: not given */
	enum recording_names names;
};

enum {
	REPORT_FIRST = 256,
	REPORT_SORT = REPORT_FIRST + REPORT_OUTPUTS,
	REPORT_TREE,
	REPORT_LIMIT,
	REPORT_NO_DEMANGLE
};

/* Below, a call tree is hard to read. */
#define REPORT_TREE_LIMIT 0.5

static const struct option report_long[] = {
	{"folded", optional_argument, NULL, REPORT_FIRST + REPORT_FOLDED},
	{"flamegraph", required_argument, NULL, REPORT_FIRST + REPORT_FLAMEGRAPH},
	{"perf-script", optional_argument, NULL, REPORT_FIRST + REPORT_PERF_SCRIPT},
	{"pprof", optional_argument, NULL, REPORT_FIRST + REPORT_PPROF},
	{"firefox", optional_argument, NULL, REPORT_FIRST + REPORT_FIREFOX},
	{"sort", required_argument, NULL, REPORT_SORT},
	{"tree", optional_argument, NULL, REPORT_TREE},
	{"percent-limit", required_argument, NULL, REPORT_LIMIT},
	{"no-demangle", no_argument, NULL, REPORT_NO_DEMANGLE},
	{NULL, 0, NULL, 0},
};

static int report_set_tree(struct report_options *o, const char *order, struct err *e)
{
	o->tree = true;
	o->tree_options.callers = order && strcmp(order, "callers") == 0;
	if (!order || o->tree_options.callers || strcmp(order, "callees") == 0)
		return 0;
	return err_set(e, EINVAL, "--tree: '%s' is none of callees, callers", order);
}

static int report_set_limit(struct report_options *o, const char *text, struct err *e)
{
	char *end;

	o->at_least = strtod(text, &end);
	if (end == text || *end || !(o->at_least >= 0 && o->at_least <= 100))
		return err_set(e, EINVAL, "--percent-limit: '%s' is no number of 0 to 100", text);
	return 0;
}

static int report_option(struct report_options *o, int opt, char **argv, struct err *e)
{
	switch (opt) {
	case REPORT_SORT:
		return flat_parse_keys(&o->keys, optarg, e);
	case REPORT_TREE:
		return report_set_tree(o, optarg, e);
	case REPORT_LIMIT:
		return report_set_limit(o, optarg, e);
	case REPORT_NO_DEMANGLE:
		o->names = RECORDING_SYMBOLS;
		return 0;
	default:
		break;
	}
	if (opt < REPORT_FIRST || opt >= REPORT_SORT)
		return usage_refuse_option(argv, e);
	o->output[opt - REPORT_FIRST] = optarg ? optarg : "-";
	return 0;
}

static int report_parse(struct report_options *o, int argc, char **argv, struct err *e)
{
	int opt;

	flat_parse_keys(&o->keys, "command,object,function", e);
	while ((opt = getopt_long(argc, argv, "", report_long, NULL)) != -1)
		if (report_option(o, opt, argv, e) < 0)
			return -e->no;
	o->file = optind < argc ? argv[optind++] : "pfm.data";
	if (optind < argc)
		return err_set(e, EINVAL, "%s: give one file; see `pfm help report`", argv[optind]);
	return 0;
}

static int report_write_to(const struct recording *r, const struct report_options *o,
	enum report_output what, FILE *out, struct err *e)
{
	if (what == REPORT_FLAMEGRAPH)
		return flamegraph_write(r, o->at_least, out, e);
	return report_writers[what](r, out, e);
}

/* A write may have failed before the last one, which tells nothing of it. */
static int report_close(FILE *out, const char *path, struct err *e)
{
	bool failed = ferror(out);

	if (fclose(out) != 0)
		return err_set(e, errno, "cannot write all of %s: %s: name another file", path,
			err_name(errno));
	if (failed)
		return err_set(e, EIO, "cannot write all of %s: is its disk full?", path);
	return 0;
}

static int report_write(const struct recording *r, const struct report_options *o,
	enum report_output what, struct err *e)
{
	const char *path = o->output[what];
	FILE *out;
	int rc;

	if (strcmp(path, "-") == 0 && what == REPORT_PPROF && isatty(STDOUT_FILENO))
		return err_set(e, EINVAL, "pprof's format is binary: --pprof=FILE names a file");
	if (strcmp(path, "-") == 0)
		return report_write_to(r, o, what, stdout, e);
	out = fopen(path, "we");
	if (!out)
		return err_set(
			e, errno, "cannot write %s: %s: name another file", path, err_name(errno));
	rc = report_write_to(r, o, what, out, e);
	return report_close(out, path, e) < 0 ? -e->no : rc;
}

static int report_write_text(
	const struct recording *r, const struct report_options *o, struct err *e)
{
	struct tree_options tree = o->tree_options;

	if (!o->tree)
		return flat_write(r, &o->keys, o->at_least, stdout, e);
	tree.at_least = o->at_least < 0 ? REPORT_TREE_LIMIT : o->at_least;
	return tree_write(r, &tree, stdout, e);
}

static int report_write_all(
	const struct recording *r, const struct report_options *o, struct err *e)
{
	bool any = false;

	for (int i = 0; i < REPORT_OUTPUTS; i++) {
		if (!o->output[i])
			continue;
		any = true;
		if (report_write(r, o, (enum report_output)i, e) < 0)
			return -e->no;
	}
	return any ? 0 : report_write_text(r, o, e);
}

static int report_run(int argc, char **argv, struct err *e)
{
	struct report_options o = {.at_least = -1, .names = RECORDING_DEMANGLED};
	struct recording r;
	int rc;

	if (report_parse(&o, argc, argv, e) < 0)
		return -e->no;
	rc = recording_open(&r, o.file, o.names, e);
	if (rc < 0)
		return rc;
	rc = report_write_all(&r, &o, e);
	recording_close(&r);
	return rc;
}

const struct pfm_command cmd_report = {
	.name = "report",
	.summary = "show where the time of a recording went",
	.usage =
		"Usage: pfm report [FILE] [--sort=KEY,... | --tree[=ORDER]] [--no-demangle]\n"
		"       pfm report [FILE] [--no-demangle] OUTPUT...\n"
		"Show the functions that pfm record has sampled, in FILE or pfm.data.\n\n"
		"  --sort=KEY,...      a line for each command, pid, tid, cpu, object, function;\n"
		"                      default: command,object,function\n"
		"  --tree[=callees]    the call tree: below each function those that it calls\n"
		"  --tree=callers      below each function those that call it\n"
		"  --percent-limit=P   leave out what has less; default: 0, of trees 0.5\n"
		"  --no-demangle       names of C++ and Rust as the linker has them\n\n"
		"Outputs, to stdout or FILE:\n"
		"  --folded[=FILE]      lines COMMAND;FUNCTION COUNT, as flamegraph.pl reads them\n"
		"  --flamegraph=FILE    a flame graph, SVG: open it in a browser\n"
		"  --perf-script[=FILE] the text of perf script\n"
		"  --pprof[=FILE]       for `go tool pprof`\n"
		"  --firefox[=FILE]     for profiler.firefox.com\n",
	.run = report_run,
};
