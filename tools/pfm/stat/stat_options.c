// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/stat_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "base/num.h"
#include "base/slice.h"

enum {
	STAT_INTERVAL_MIN_MS = 10,
	STAT_RUNS_MAX = 100000,
	STAT_COMPARED_RUNS = 10, /* for each command, by default */
	/* With fewer runs, even the clearest difference is not significant: see mann_whitney.h. */
	STAT_COMPARED_RUNS_MIN = 4,
};

enum stat_option {
	OPT_BACKGROUND = OPTION_LONG + 1,
	OPT_GAPS,
	OPT_APPEND,
	OPT_MUX,
	OPT_RERUN,
	OPT_PER_THREAD,
	OPT_PER_CORE,
	OPT_PER_SOCKET,
	OPT_ALLOW_LOST,
	OPT_REGIONS,
	OPT_COMPARE,
	OPT_WARMUP,
	OPT_PREPARE,
	OPT_STDIN,
	OPT_SHOW_OUTPUT,
	OPT_IGNORE_FAILURE,
};

const struct option_row stat_options_rows[] = {
	{'e', "event", "EVENT,...",
		"what to count (see `pfm list`); at user level by :u, in the kernel by :k", 0},
	{'g', "group", "GROUP", "the events of a group, with its metrics", 0},
	PLACE_OPTIONS,
	{'I', "interval", "MS", "print the counts of each interval, of 10 ms or more", 0},
	{'r', "repeat", "N", "run the command N times, for statistics", 0},
	{'j', "json", NULL, "JSON Lines, see pfm-stat(1)", 0},
	{'x', "field-separator", "C", "CSV, with that separator", 0},
	{'o', "output", "FILE",
		"the file for the counts (default: stderr with a COMMAND, stdout without)", 0},
	{OPT_APPEND, "append", NULL, "append to that file", 0},
	{OPT_BACKGROUND, "background", NULL,
		"on CPUs, yield to other contexts; show how long it counted", 0},
	{OPT_GAPS, "gaps", NULL,
		"for threads, go on after a missed switch; show how long they ran uncounted", 0},
	{OPT_MUX, "mux", NULL,
		"more events than counters: count event sets in turns and estimate, showing the "
		"share of the time that each event counted",
		0},
	{OPT_RERUN, "rerun", NULL,
		"more events than counters: run the command once for each event set", 0},
	{'A', "no-aggr", NULL, "one count for each CPU, process or thread", 0},
	{OPT_PER_THREAD, "per-thread", NULL, "one for each thread of the command or of processes",
		0},
	{OPT_PER_CORE, "per-core", NULL, "one for each core, of CPUs", 0},
	{OPT_PER_SOCKET, "per-socket", NULL, "one for each socket", 0},
	{OPT_COMPARE, "compare", NULL,
		"run two lines of sh alternately, -r times each (default: 10), and show what "
		"differs significantly",
		0},
	{OPT_WARMUP, "warmup", "N", "before the runs, run each command N times uncounted", 0},
	{OPT_PREPARE, "prepare", "LINE", "before each run, run this shell line uncounted", 0},
	{OPT_STDIN, "stdin", "FILE", "standard input of each run", 0},
	{OPT_SHOW_OUTPUT, "show-output", NULL,
		"with -r and --compare, show the standard output of the runs", 0},
	{OPT_IGNORE_FAILURE, "ignore-failure", NULL,
		"with -r and --compare, go on when a run has failed", 0},
	{OPT_REGIONS, "regions", NULL,
		"count the parts of the command that it marks with pfm_region_begin(3)", 0},
	{OPT_ALLOW_LOST, "allow-lost", NULL, "exit as the command does, even if a count is lost",
		0},

	/* perf stat */
	{'B', "big-num", NULL, NULL, OPTION_DEFAULT},
	{'c', "scale", NULL, NULL, OPTION_DEFAULT},
	{'v', "verbose", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "no-merge", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "no-scale", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "no-big-num", NULL, "-x, and -j write digits without commas", OPTION_FOREIGN},
	{OPTION_LONG, "all-user", NULL, "write :u behind each event, as in -e cycles:u",
		OPTION_FOREIGN},
	{OPTION_LONG, "all-kernel", NULL, "write :k behind each event, as in -e cycles:k",
		OPTION_FOREIGN},
	{'b', "bpf-prog", "ID", "it counts no BPF programs: give a command, -p, -t, -C or -a",
		OPTION_FOREIGN},
	{OPTION_LONG, "bpf-counters", NULL,
		"it counts no BPF programs: give a command, -p, -t, -C or -a", OPTION_FOREIGN},
	{OPTION_LONG, "control", "HOW",
		"to start and stop, use the file ctl of a context: perfmonfs(5)", OPTION_FOREIGN},
	{OPTION_LONG, "cputype", "TYPE", "name the type with the event: -e cpu_core/cycles/",
		OPTION_FOREIGN},
	{'d', "detailed", NULL, "name events by -e, or a group by -g, as -g caches: see `pfm list`",
		OPTION_FOREIGN},
	{'D', "delay", "MS", "start the command first, and count it later by -p PID",
		OPTION_FOREIGN},
	{OPTION_LONG, "filter", "FILTER", "filters are for tracepoints, which perf stat counts",
		OPTION_FOREIGN},
	{OPTION_LONG, "for-each-cgroup", "NAME", "give one group by -G", OPTION_FOREIGN},
	{'i', "no-inherit", NULL, "--per-thread shows each thread alone, -t TID counts one",
		OPTION_FOREIGN},
	{OPTION_LONG, "interval-clear", NULL, "pfm top shows a live table", OPTION_FOREIGN},
	{OPTION_LONG, "interval-count", "N", "let a command end it: -I 1000 -a -- sleep N",
		OPTION_FOREIGN},
	{OPTION_LONG, "json-output", NULL, "is it -j?", OPTION_FOREIGN},
	{OPTION_LONG, "log-fd", "FD", "is it -o /dev/fd/FD?", OPTION_FOREIGN},
	{'M', "metrics", "METRIC", "-g GROUP counts a group with its metrics: see `pfm list`",
		OPTION_FOREIGN},
	{OPTION_LONG, "metric-only", NULL,
		"-j writes each metric as a line of its own, with \"metric\"", OPTION_FOREIGN},
	{OPTION_LONG, "metric-no-group", NULL, "--mux and --rerun count more events than counters",
		OPTION_FOREIGN},
	{'n', "null", NULL, "-e page-faults counts without hardware; the time is always shown",
		OPTION_FOREIGN},
	{OPTION_LONG, "per-cache", NULL, "is it --per-core or --per-socket?", OPTION_FOREIGN},
	{OPTION_LONG, "per-die", NULL, "is it --per-socket?", OPTION_FOREIGN},
	{OPTION_LONG, "per-node", NULL, "is it --per-socket?", OPTION_FOREIGN},
	{OPTION_LONG, "post", "COMMAND", "count a script that does it: sh -c '...'",
		OPTION_FOREIGN},
	{OPTION_LONG, "pre", "COMMAND", "is it --prepare?", OPTION_FOREIGN},
	{OPTION_LONG, "quiet", NULL, "is it -o /dev/null?", OPTION_FOREIGN},
	{OPTION_LONG, "smi-cost", NULL, "perf stat has that", OPTION_FOREIGN},
	{OPTION_LONG, "summary", NULL, "leave out -I: the sum of all is shown at the end",
		OPTION_FOREIGN},
	{OPTION_LONG, "sync", NULL, "run sync before pfm stat", OPTION_FOREIGN},
	{OPTION_LONG, "table", NULL, "-r with -j writes a line for each run", OPTION_FOREIGN},
	{OPTION_LONG, "timeout", "MS",
		"count `timeout SECONDS COMMAND`, or -p PID -- sleep SECONDS", OPTION_FOREIGN},
	{OPTION_LONG, "topdown", NULL, "is it -g topdown?", OPTION_FOREIGN},
	{'T', "transaction", NULL, "name events of transactions by -e: see `pfm list tx`",
		OPTION_FOREIGN},
	/* likwid-perfctr */
	{'O', NULL, NULL, "is it -x, for CSV?", OPTION_FOREIGN},
	{'S', NULL, "TIME", "let a command end it: -a -- sleep 1", OPTION_FOREIGN},
	{'H', NULL, NULL, "pfm list WORD shows groups and events with their metrics",
		OPTION_FOREIGN},
	/* hyperfine */
	{'N', NULL, NULL, "without --compare, there is no shell: pfm stat -r 10 COMMAND",
		OPTION_FOREIGN},
	{OPTION_LONG, "shell", "SHELL",
		"without --compare, there is no shell: pfm stat -r 10 COMMAND", OPTION_FOREIGN},
	{OPTION_LONG, "input", "FILE", "is it --stdin?", OPTION_FOREIGN},
	{OPTION_LONG, "runs", "N", "is it --repeat?", OPTION_FOREIGN},
	{OPTION_LONG, "min-runs", "N", "is it --repeat?", OPTION_FOREIGN},
	{OPTION_LONG, "max-runs", "N", "is it --repeat?", OPTION_FOREIGN},
	{OPTION_LONG, "export-json", "FILE", "is it -j -o FILE?", OPTION_FOREIGN},
	{OPTION_LONG, "export-csv", "FILE", "is it -x, -o FILE?", OPTION_FOREIGN},
	{OPTION_LONG, "export-markdown", "FILE", "-x '|' -o FILE writes columns", OPTION_FOREIGN},
	{0},
};

const char stat_options_usage[] =
	"Usage: pfm stat [options] COMMAND [ARG...]\n"
	"       pfm stat [options] -p PID|-t TID|-G CGROUP|-C LIST|-a [-- COMMAND...]\n"
	"       pfm stat [options] --compare 'COMMAND A' 'COMMAND B'\n"
	"Count events of a command and everything it starts, or of processes, threads or\n"
	"CPUs, until COMMAND ends or Ctrl-C.\n";

static int stat_options_interval(struct stat_options *o, const char *text, struct err *e)
{
	uint64_t ms = 0;
	int rc = num_within(slice_of(text), STAT_INTERVAL_MIN_MS, INT_MAX, &ms, e);

	o->interval_ns = ms * 1000000;
	if (rc == -EINVAL)
		return err_set(
			e, EINVAL, "-I %.40s: give milliseconds, 10 or more, like -I 1000", text);
	return rc < 0 ? err_prefix(e, "-I") : 0;
}

/* Whether @c can separate fields: numbers and field names must not contain it. */
static bool stat_options_separates(char c)
{
	return !isalnum((unsigned char)c) && !strchr("\"\n\r-+._", c);
}

static int stat_options_format(struct stat_options *o, enum report_format format, struct err *e)
{
	if (o->format != REPORT_TEXT && o->format != format)
		return err_set(e, EINVAL, "give -j or -x, not both");
	o->format = format;
	return 0;
}

static int stat_options_csv(struct stat_options *o, const char *text, struct err *e)
{
	if (strlen(text) != 1 || !stat_options_separates(*text))
		return err_set(e, EINVAL, "-x %s: give one character, like -x,", text);
	o->separator = *text;
	return stat_options_format(o, REPORT_CSV, e);
}

static int stat_options_aggregate(struct stat_options *o, enum aggregate how, struct err *e)
{
	if (o->aggregate != AGGREGATE_ALL)
		return err_set(e, EINVAL,
			"give one of --no-aggr, --per-thread, --per-core and --per-socket");
	o->aggregate = how;
	return 0;
}

static int stat_options_set_output(struct stat_options *o, int c, struct err *e)
{
	switch (c) {
	case 'I':
		return stat_options_interval(o, optarg, e);
	case 'j':
		return stat_options_format(o, REPORT_JSON, e);
	case 'x':
		return stat_options_csv(o, optarg, e);
	case 'o':
		o->output = optarg;
		return 0;
	case OPT_APPEND:
		o->append = true;
		return 0;
	case 'A':
		return stat_options_aggregate(o, AGGREGATE_NONE, e);
	case OPT_PER_THREAD:
		return stat_options_aggregate(o, AGGREGATE_THREAD, e);
	case OPT_PER_CORE:
		return stat_options_aggregate(o, AGGREGATE_CORE, e);
	default:
		return stat_options_aggregate(o, AGGREGATE_SOCKET, e);
	}
}

static int stat_options_count(
	const char *option, const char *text, unsigned min, uint64_t *n, struct err *e)
{
	int rc = num_within(slice_of(text), min, STAT_RUNS_MAX, n, e);

	if (rc == -EINVAL)
		return err_set(e, EINVAL,
			"%s %.40s: give a number of runs before the command, like %s 3 COMMAND",
			option, text, option);
	return rc < 0 ? err_prefix(e, "%s", option) : 0;
}

/* Sets the options about how a command is run. */
static int stat_options_set_runs(struct stat_options *o, int c, struct err *e)
{
	switch (c) {
	case 'r':
		return stat_options_count("-r", optarg, 1, &o->nruns, e);
	case OPT_WARMUP:
		return stat_options_count("--warmup", optarg, 0, &o->nwarmups, e);
	case OPT_PREPARE:
		return options_set_once(&o->prepare, "--prepare", optarg, e);
	case OPT_STDIN:
		return options_set_once(&o->input, "--stdin", optarg, e);
	case OPT_SHOW_OUTPUT:
		o->show_output = true;
		return 0;
	case OPT_IGNORE_FAILURE:
		o->ignore_failure = true;
		return 0;
	default:
		return stat_options_set_output(o, c, e);
	}
}

static int stat_options_set(struct stat_options *o, int c, struct err *e)
{
	int rc = place_options_set(&o->where, c, optarg, e);

	if (rc)
		return rc < 0 ? rc : 0;
	switch (c) {
	case 'e':
		return options_set_once(&o->wanted.events, "-e", optarg, e);
	case 'g':
		return options_set_once(&o->wanted.group, "-g", optarg, e);
	case OPT_BACKGROUND:
		o->background = true;
		return 0;
	case OPT_GAPS:
		o->gaps = true;
		return 0;
	case OPT_MUX:
		o->mux = true;
		return 0;
	case OPT_RERUN:
		o->rerun = true;
		return 0;
	case OPT_COMPARE:
		o->compare = true;
		return 0;
	case OPT_REGIONS:
		o->regions = true;
		return 0;
	case OPT_ALLOW_LOST:
		o->allow_lost = true;
		return 0;
	default:
		return stat_options_set_runs(o, c, e);
	}
}

static int stat_options_check_again(const struct stat_options *o, struct err *e)
{
	if (!o->command && !o->compare)
		return err_set(e, EINVAL, "-r and --rerun need a command to run again");
	if (o->interval_ns)
		return err_set(e, EINVAL, "-I cannot be combined with -r, --rerun or --compare");
	if (o->compare && o->aggregate != AGGREGATE_ALL)
		return err_set(
			e, EINVAL, "--compare compares sums: leave out --no-aggr and --per-...");
	if (o->aggregate == AGGREGATE_THREAD && o->where.kind == PLACE_COMMAND)
		return err_set(e, EINVAL,
			"--per-thread cannot be combined with -r or --rerun, because each run has "
			"different threads");
	return 0;
}

static int stat_options_check_aggregate(const struct stat_options *o, struct err *e)
{
	if (o->aggregate == AGGREGATE_THREAD && o->where.kind == PLACE_CPU)
		return err_set(
			e, EINVAL, "--per-thread is for commands and processes, not for CPUs");
	if ((o->aggregate == AGGREGATE_CORE || o->aggregate == AGGREGATE_SOCKET) &&
		o->where.kind != PLACE_CPU)
		return err_set(
			e, EINVAL, "--per-core and --per-socket are for CPUs: give -C or -a");
	return 0;
}

/* Refuses options that need counts without gaps. */
static int stat_options_check_gaps(const struct stat_options *o, struct err *e)
{
	if (o->background && o->where.kind != PLACE_CPU)
		return err_set(e, EINVAL,
			"--background is for CPUs, as threads take turns there: give -C or -a");
	if (o->gaps && (o->where.kind == PLACE_CPU || o->regions))
		return err_set(e, EINVAL,
			"--gaps is for commands, processes and threads: not with -C, -a and "
			"--regions");
	if (o->mux || o->rerun || o->nruns > 1)
		return err_set(e, EINVAL,
			"%s leaves gaps in the counts: leave it out, or leave out --mux, --rerun, "
			"-r and --compare",
			o->gaps ? "--gaps" : "--background");
	return 0;
}

/* The command may be what -e or -g has taken. */
static int stat_options_check_command(const struct stat_options *o, const char *last, struct err *e)
{
	const char *option = last == o->wanted.group    ? "-g"
			     : last == o->wanted.events ? "-e"
							: NULL;

	if (o->command || o->compare || o->where.kind != PLACE_COMMAND || !option)
		return 0;
	return err_set(e, EINVAL,
		"no command: %s takes '%.40s' as its %s: give both, like %s %s %.40s", option, last,
		option[1] == 'g' ? "group" : "event", option,
		option[1] == 'g' ? "default" : "page-faults", last);
}

static int stat_options_check(const struct stat_options *o, const char *last, struct err *e)
{
	bool again = o->nruns > 1 || o->rerun || o->compare;

	if (stat_options_check_command(o, last, e) < 0)
		return -e->no;
	if (!o->compare && place_options_check(&o->where, o->command, e) < 0)
		return -e->no;
	if (again && stat_options_check_again(o, e) < 0)
		return -e->no;
	if (o->regions && (o->where.kind != PLACE_COMMAND || again || o->mux || o->interval_ns ||
				  o->aggregate != AGGREGATE_ALL))
		return err_set(e, EINVAL,
			"--regions: the command counts its own parts: leave out -p, -t, -C, -a, "
			"-I, -r, --mux, --rerun, --compare, --no-aggr and --per-thread");
	if ((o->background || o->gaps) && stat_options_check_gaps(o, e) < 0)
		return -e->no;
	if ((o->nwarmups || o->prepare || o->input) && !o->command && !o->compare)
		return err_set(
			e, EINVAL, "--warmup, --prepare and --stdin are for a command: give one");
	if (o->append && !o->output)
		return err_set(e, EINVAL, "--append needs a file: add -o FILE");
	if (o->mux && o->rerun)
		return err_set(e, EINVAL, "give one of --mux and --rerun");
	return stat_options_check_aggregate(o, e);
}

/* Takes the operands of --compare. */
static int stat_options_compared(struct stat_options *o, char *const *operands, struct err *e)
{
	if (!operands[0] || !operands[1] || operands[2])
		return err_set(e, EINVAL,
			"--compare: give two commands in quotes, like 'sort -n file' 'sort file'");
	if (o->nruns == 0)
		o->nruns = STAT_COMPARED_RUNS;
	if (o->nruns < STAT_COMPARED_RUNS_MIN)
		return err_set(e, EINVAL, "-r: fewer than %d runs cannot show a difference",
			STAT_COMPARED_RUNS_MIN);
	o->compared[0] = operands[0];
	o->compared[1] = operands[1];
	return 0;
}

int stat_options_parse(struct stat_options *o, int argc, char **argv, struct err *e)
{
	int c, rc = 0;

	*o = (struct stat_options){.nruns = 0};
	while (rc == 0 && (c = options_next(&cmd_stat, argc, argv, e)) != 0)
		rc = c < 0 ? c : stat_options_set(o, c, e);
	if (rc == 0 && o->compare)
		rc = stat_options_compared(o, argv + optind, e);
	else if (rc == 0)
		o->command = argv[optind] ? argv + optind : NULL;
	if (o->nruns == 0)
		o->nruns = 1;
	return rc < 0 ? rc : stat_options_check(o, argv[argc - 1], e);
}
