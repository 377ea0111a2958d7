// SPDX-License-Identifier: MIT
/* pfm report: shows a recording of pfm record to people, or converts it for other programs. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/pfm/command.h"
#include "tools/pfm/samples/reports.h"
#include "tools/pfm/top/browser.h"
#include "tools/pfm/top/screen.h"

/* Output files. If none is wanted, a text for people is written. */
enum report_output {
	REPORT_FOLDED,
	REPORT_FLAMEGRAPH,
	REPORT_HTML,
	REPORT_PERF_SCRIPT,
	REPORT_PPROF,
	REPORT_FIREFOX,
	REPORT_OUTPUTS
};

static int (*const report_writers[REPORT_OUTPUTS])(
	const struct recording *r, FILE *out, struct err *e) = {
	[REPORT_FOLDED] = folded_write,
	[REPORT_HTML] = html_write,
	[REPORT_PERF_SCRIPT] = perf_script_write,
	[REPORT_PPROF] = pprof_write,
	[REPORT_FIREFOX] = firefox_write,
};

struct report_options {
	const char *output[REPORT_OUTPUTS]; /* the file, "-" for stdout; NULL: not wanted */
	const char *file;
	const char *event; /* NULL: all in texts, the first one in OUTPUTs; --html begins with it */
	struct flat_keys keys;
	bool text; /* also on a terminal */
	bool tree;
	struct tree_options tree_options;
	double at_least; /* percent; negative: not given */
	unsigned names;  /* enum recording_names */
};

enum {
	REPORT_FIRST = OPTION_LONG + 1,
	REPORT_TREE = REPORT_FIRST + REPORT_OUTPUTS,
	REPORT_LIMIT,
	REPORT_NO_DEMANGLE,
	REPORT_NO_INLINE,
	REPORT_LINES,
	REPORT_STDIO
};

/* A call tree with smaller shares is hard to read. */
#define REPORT_TREE_LIMIT 0.5

static const struct option_row report_options_rows[] = {
	{'i', "input", "FILE", "the recording (default: pfm.data)", 0},
	{'e', "event", "EVENT", "one event of several; default: all, in OUTPUTs but --html the first", 0},
	{'s', "sort", "KEY,...",
		"a line for each command, pid, tid, cpu, object, function, line; default: "
		"command,object,function",
		0},
	{REPORT_TREE, "tree", "[ORDER]",
		"the call tree: callees (the default) shows below each function those that it "
		"calls, "
		"callers those that call it",
		0},
	{REPORT_LIMIT, "percent-limit", "P", "leave out what has less; default: 0, of trees 0.5",
		0},
	{REPORT_STDIO, "stdio", NULL, "the text also on a terminal, instead of a browser", 0},
	{REPORT_LINES, "lines", NULL, "functions with the source line, in all texts", 0},
	{REPORT_NO_INLINE, "no-inline", NULL, "count what is inlined to the function around it", 0},
	{REPORT_NO_DEMANGLE, "no-demangle", NULL, "names of C++ and Rust as the linker has them",
		0},
	{REPORT_FIRST + REPORT_FOLDED, "folded", "[FILE]",
		"lines COMMAND;FUNCTION COUNT, as flamegraph.pl reads them", 0},
	{REPORT_FIRST + REPORT_FLAMEGRAPH, "flamegraph", "FILE",
		"a flame graph, SVG: open it in a browser", 0},
	{REPORT_FIRST + REPORT_HTML, "html", "FILE",
		"a page with table, flame graph, time line and source: open it in a browser", 0},
	{REPORT_FIRST + REPORT_PERF_SCRIPT, "perf-script", "[FILE]", "the text of perf script", 0},
	{REPORT_FIRST + REPORT_PPROF, "pprof", "[FILE]", "for `go tool pprof`", 0},
	{REPORT_FIRST + REPORT_FIREFOX, "firefox", "[FILE]", "for profiler.firefox.com", 0},

	/* perf report */
	{OPTION_LONG, "demangle", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "inline", NULL, NULL, OPTION_DEFAULT},
	{'f', "force", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "no-children", NULL, NULL, OPTION_DEFAULT},
	{'q', "quiet", NULL, NULL, OPTION_DEFAULT},
	{'v', "verbose", NULL, NULL, OPTION_DEFAULT},
	{'c', "comms", "COMMAND", "a line each by --sort=command: pipe it to grep", OPTION_FOREIGN},
	{OPTION_LONG, "children", NULL, "--tree shows each function with those that it calls",
		OPTION_FOREIGN},
	{'d', "dsos", "OBJECT", "a line each by --sort=object: pipe it to grep", OPTION_FOREIGN},
	{'D', "dump-raw-trace", NULL, "is it --perf-script?", OPTION_FOREIGN},
	{'F', "fields", "FIELDS", "is it --sort?", OPTION_FOREIGN},
	{'g', "call-graph", "[HOW]", "is it --tree or --flamegraph=FILE?", OPTION_FOREIGN},
	{'G', "inverted", NULL, "is it --tree=callers?", OPTION_FOREIGN},
	{OPTION_LONG, "gtk", NULL, "--firefox=FILE is for a browser", OPTION_FOREIGN},
	{OPTION_LONG, "header", NULL, "is it --perf-script? It begins with what was recorded",
		OPTION_FOREIGN},
	{'n', "show-nr-samples", NULL, "--folded has the number of samples of each stack",
		OPTION_FOREIGN},
	{'S', "symbols", "FUNCTION", "a line each by --sort=function: pipe it to grep",
		OPTION_FOREIGN},
	{'T', "threads", NULL, "is it --sort=tid?", OPTION_FOREIGN},
	{OPTION_LONG, "tui", NULL, NULL, OPTION_DEFAULT},
	{'t', "field-separator", "C", "--folded and --perf-script are for programs",
		OPTION_FOREIGN},
	{0},
};

static int report_set_tree(struct report_options *o, const char *order, struct err *e)
{
	o->tree = true;
	o->tree_options.callers = order && strcmp(order, "callers") == 0;
	if (!order || o->tree_options.callers || strcmp(order, "callees") == 0)
		return 0;
	return err_set(e, EINVAL, "--tree: '%s' is not an order: give callees or callers", order);
}

static int report_option(struct report_options *o, int opt, struct err *e)
{
	switch (opt) {
	case 'i':
		return options_set_once(&o->file, "-i", optarg, e);
	case 'e':
		return options_set_once(&o->event, "-e", optarg, e);
	case 's':
		o->text = true;
		return flat_parse_keys(&o->keys, optarg, e);
	case REPORT_TREE:
		return report_set_tree(o, optarg, e);
	case REPORT_LIMIT:
		o->text = true;
		return report_parse_limit(&o->at_least, optarg, e);
	case REPORT_STDIO:
		o->text = true;
		return 0;
	case REPORT_NO_DEMANGLE:
		o->names &= ~(unsigned)RECORDING_DEMANGLE;
		return 0;
	case REPORT_NO_INLINE:
		o->names &= ~(unsigned)RECORDING_INLINED;
		return 0;
	case REPORT_LINES:
		o->names |= RECORDING_LINES;
		return 0;
	default:
		o->output[opt - REPORT_FIRST] = optarg ? optarg : "-";
		return 0;
	}
}

static int report_parse(struct report_options *o, int argc, char **argv, struct err *e)
{
	int opt;

	flat_parse_keys(&o->keys, "command,object,function", e);
	while ((opt = options_next(&cmd_report, argc, argv, e)) != 0)
		if (opt < 0 || report_option(o, opt, e) < 0)
			return -e->no;
	/* In the table, the line is a column of its own. */
	if (o->names & RECORDING_LINES && !flat_has_key(&o->keys, FLAT_LINE))
		o->keys.key[o->keys.n++] = FLAT_LINE;
	if (flat_has_key(&o->keys, FLAT_LINE))
		o->names |= RECORDING_LINES;
	if (!o->file)
		o->file = optind < argc ? argv[optind++] : "pfm.data";
	if (optind < argc)
		return err_set(e, EINVAL, "%s: give one file; see `pfm help report`", argv[optind]);
	return 0;
}

/* One of the outputs. */
struct report_job {
	const struct recording *r;
	const struct report_options *o;
	enum report_output what;
};

static int report_write_to(const void *of, FILE *out, struct err *e)
{
	const struct report_job *job = of;

	if (job->what == REPORT_FLAMEGRAPH)
		return flamegraph_write(job->r, job->o->at_least, out, e);
	return report_writers[job->what](job->r, out, e);
}

static int report_write(const struct recording *r, const struct report_options *o,
	enum report_output what, struct err *e)
{
	const struct report_job job = {r, o, what};
	const char *path = o->output[what];

	if (strcmp(path, "-") == 0 && what == REPORT_PPROF && isatty(STDOUT_FILENO))
		return err_set(e, EINVAL, "pprof's format is binary: --pprof=FILE names a file");
	return report_to(
		path, what == REPORT_HTML ? REPORT_PRIVATE : REPORT_MODE, report_write_to, &job, e);
}

/* Writes the event that is chosen. */
static int report_write_event(
	const struct recording *r, const struct report_options *o, struct err *e)
{
	struct tree_options tree = o->tree_options;

	if (!o->tree)
		return flat_write(r, &o->keys, o->at_least, stdout, e);
	tree.at_least = o->at_least < 0 ? REPORT_TREE_LIMIT : o->at_least;
	return tree_write(r, &tree, stdout, e);
}

static int report_write_text(struct recording *r, const struct report_options *o, struct err *e)
{
	if (o->event)
		return report_write_event(r, o, e);
	for (unsigned i = 0; i < r->nevents; i++) {
		recording_choose(r, i);
		if (i)
			putchar('\n');
		if (report_write_event(r, o, e) < 0)
			return -e->no;
	}
	return 0;
}

/* Shows the event that the user names. */
static int report_choose(struct recording *r, const struct report_options *o, struct err *e)
{
	for (unsigned i = 0; o->event && i < r->nevents; i++)
		if (strcmp(r->events[i].name, o->event) == 0) {
			recording_choose(r, i);
			return 0;
		}
	return o->event ? err_set(e, ENOENT, "-e %s: the recording has no such event; it has %s%s",
				  o->event, r->events[0].name, r->nevents > 1 ? " and others" : "")
			: 0;
}

static int report_write_all(struct recording *r, const struct report_options *o, struct err *e)
{
	bool any = false;

	for (int i = 0; i < REPORT_OUTPUTS; i++) {
		if (!o->output[i])
			continue;
		any = true;
		if (report_write(r, o, (enum report_output)i, e) < 0)
			return -e->no;
	}
	if (any)
		return 0;
	return o->text || o->tree || o->names & RECORDING_LINES || !screen_possible()
		       ? report_write_text(r, o, e)
		       : browser_run(r, e);
}

static int report_run(int argc, char **argv, struct err *e)
{
	struct report_options o = {.at_least = -1, .names = RECORDING_DEFAULT};
	struct recording r;
	int rc;

	if (report_parse(&o, argc, argv, e) < 0)
		return -e->no;
	rc = recording_open(&r, o.file, o.names, e);
	if (rc < 0)
		return rc;
	if (!o.output[REPORT_PERF_SCRIPT])
		recording_drop_addresses(&r);
	rc = report_choose(&r, &o, e);
	if (rc == 0)
		rc = report_write_all(&r, &o, e);
	recording_close(&r);
	return rc;
}

const struct pfm_command cmd_report = {
	.name = "report",
	.summary = "show where the time of a recording went",
	.usage = "Usage: pfm report [FILE] [--stdio | --sort=KEY,... | --tree[=ORDER]]\n"
		 "       pfm report [FILE] OUTPUT...\n"
		 "Show the functions that pfm record has sampled, in FILE or pfm.data: on a\n"
		 "terminal in a browser, whose last line names its keys, or else as a text.\n"
		 "OUTPUTs are --html, --flamegraph, --folded, --perf-script, --pprof and\n"
		 "--firefox; without FILE, to stdout.\n",
	.options = report_options_rows,
	.run = report_run,
};
