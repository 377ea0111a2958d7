// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/stat_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/text/usage.h"

enum {
	STAT_INTERVAL_MIN_MS = 10,
	STAT_RUNS_MAX = 100000,
	STAT_COMPARED_RUNS = 10, /* of each command, by default */
	/* With fewer, even the clearest difference is not significant: see difference.h. */
	STAT_COMPARED_RUNS_MIN = 4,
};

enum stat_option {
	OPT_BACKGROUND = 256,
	OPT_MUX,
	OPT_RERUN,
	OPT_NO_AGGR,
	OPT_PER_THREAD,
	OPT_PER_CORE,
	OPT_PER_SOCKET,
	OPT_ALLOW_LOST,
	OPT_REGIONS,
	OPT_COMPARE,
};

static const struct option stat_options_long[] = {
	{"event", required_argument, NULL, 'e'},
	{"group", required_argument, NULL, 'g'},
	PLACE_OPTIONS_LONG,
	{"interval", required_argument, NULL, 'I'},
	{"repeat", required_argument, NULL, 'r'},
	{"json", no_argument, NULL, 'j'},
	{"field-separator", required_argument, NULL, 'x'},
	{"output", required_argument, NULL, 'o'},
	{"background", no_argument, NULL, OPT_BACKGROUND},
	{"mux", no_argument, NULL, OPT_MUX},
	{"rerun", no_argument, NULL, OPT_RERUN},
	{"no-aggr", no_argument, NULL, OPT_NO_AGGR},
	{"per-thread", no_argument, NULL, OPT_PER_THREAD},
	{"per-core", no_argument, NULL, OPT_PER_CORE},
	{"per-socket", no_argument, NULL, OPT_PER_SOCKET},
	{"allow-lost", no_argument, NULL, OPT_ALLOW_LOST},
	{"regions", no_argument, NULL, OPT_REGIONS},
	{"compare", no_argument, NULL, OPT_COMPARE},
	{0},
};

const char stat_options_usage[] =
	"Usage: pfm stat [options] COMMAND [ARG...]\n"
	"       pfm stat [options] -p PID | -t TID | -C LIST | -a [-- COMMAND [ARG...]]\n"
	"       pfm stat [options] --compare 'COMMAND A' 'COMMAND B'\n"
	"Count events of a command and of all that it starts, or of what runs already:\n"
	"until COMMAND ends, or Ctrl-C.\n"
	"\n"
	"  -e, --event=EVENT,...    what to count (see `pfm list`); at user level by :u,\n"
	"                           in the kernel by :k\n"
	"  -g, --group=GROUP        the events of a group, with its metrics\n" PLACE_OPTIONS_USAGE
	"  -I, --interval=MS        print the counts of each interval, of 10 ms or more\n"
	"  -r, --repeat=N           run the command N times, for statistics\n"
	"  -j, --json               JSON Lines, see pfm-stat(1)\n"
	"  -x, --field-separator=C  CSV, with that separator\n"
	"  -o, --output=FILE        the file for the counts (default: stderr with a\n"
	"                           COMMAND, stdout without)\n"
	"      --background         of CPUs, give way to other contexts; show how long it\n"
	"                           counted\n"
	"      --mux                more events than counters: event sets by turns, and\n"
	"                           estimates, each with its share of the time\n"
	"      --rerun              more events than counters: the command once for each\n"
	"                           set\n"
	"      --no-aggr            one count for each CPU, process or thread\n"
	"      --per-thread         one for each thread of the command or of processes\n"
	"      --per-core           one for each core, of CPUs\n"
	"      --per-socket         one for each socket\n"
	"      --compare            run two lines of sh alternately, -r times each\n"
	"                           (default: 10), and show what differs significantly\n"
	"      --regions            count the parts of the command that it names by\n"
	"                           pfm_region_begin(3)\n"
	"      --allow-lost         exit as the command does, even if a count is lost\n";

static int stat_options_interval(struct stat_options *o, const char *text, struct err *e)
{
	uint64_t ms = 0;
	int rc = num_within(slice_of(text), STAT_INTERVAL_MIN_MS, INT_MAX, &ms, e);

	o->interval_ns = ms * 1000000;
	return rc < 0 ? err_prefix(e, "-I") : 0;
}

/* Not one of those that numbers and the names of fields have. */
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
	case 'r':
		return num_within(slice_of(optarg), 1, STAT_RUNS_MAX, &o->nruns, e) < 0
			       ? err_prefix(e, "-r")
			       : 0;
	case 'j':
		return stat_options_format(o, REPORT_JSON, e);
	case 'x':
		return stat_options_csv(o, optarg, e);
	case 'o':
		o->output = optarg;
		return 0;
	case OPT_NO_AGGR:
		return stat_options_aggregate(o, AGGREGATE_NONE, e);
	case OPT_PER_THREAD:
		return stat_options_aggregate(o, AGGREGATE_THREAD, e);
	case OPT_PER_CORE:
		return stat_options_aggregate(o, AGGREGATE_CORE, e);
	default:
		return stat_options_aggregate(o, AGGREGATE_SOCKET, e);
	}
}

static int stat_options_set(struct stat_options *o, int c, struct err *e)
{
	int rc = place_options_set(&o->where, c, optarg, e);

	if (rc)
		return rc < 0 ? rc : 0;
	switch (c) {
	case 'e':
		return usage_set_once(&o->wanted.events, "-e", optarg, e);
	case 'g':
		return usage_set_once(&o->wanted.group, "-g", optarg, e);
	case OPT_BACKGROUND:
		o->background = true;
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
		return stat_options_set_output(o, c, e);
	}
}

static int stat_options_check_again(const struct stat_options *o, struct err *e)
{
	if (!o->command && !o->compare)
		return err_set(e, EINVAL, "-r and --rerun need a command to run again");
	if (o->interval_ns)
		return err_set(e, EINVAL, "-I: not with -r, --rerun or --compare");
	if (o->compare && o->aggregate != AGGREGATE_ALL)
		return err_set(
			e, EINVAL, "--compare compares sums: not with --no-aggr and --per-...");
	if (o->aggregate == AGGREGATE_THREAD && o->where.kind == PLACE_COMMAND)
		return err_set(e, EINVAL,
			"--per-thread: each run of a command has other threads: not with -r or "
			"--rerun");
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

/* Counts that have gaps are not those of all the time. */
static int stat_options_check_background(const struct stat_options *o, struct err *e)
{
	if (o->where.kind != PLACE_CPU)
		return err_set(e, EINVAL,
			"--background is for CPUs, as threads take turns there: give -C or -a");
	if (o->mux || o->rerun || o->nruns > 1)
		return err_set(e, EINVAL,
			"--background has gaps, so that its counts are no estimates and no "
			"statistics: not with --mux, --rerun and -r");
	return 0;
}

static int stat_options_check(const struct stat_options *o, struct err *e)
{
	bool again = o->nruns > 1 || o->rerun || o->compare;

	if (!o->compare && place_options_check(&o->where, o->command, e) < 0)
		return -e->no;
	if (again && stat_options_check_again(o, e) < 0)
		return -e->no;
	if (o->regions && (o->where.kind != PLACE_COMMAND || again || o->mux || o->interval_ns ||
				  o->aggregate != AGGREGATE_ALL))
		return err_set(e, EINVAL,
			"--regions: a command counts its own parts, so that none of -p, -t, -C, "
			"-a, -I, -r, --mux, --rerun, --compare, --no-aggr and --per-thread can be "
			"given");
	if (o->background && stat_options_check_background(o, e) < 0)
		return -e->no;
	if (o->mux && o->rerun)
		return err_set(e, EINVAL, "give one of --mux and --rerun");
	return stat_options_check_aggregate(o, e);
}

/* The operands of --compare. */
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
	optind = 1;
	while (rc == 0 && (c = getopt_long(argc, argv, "+e:g:I:r:jx:o:" PLACE_OPTIONS_LETTERS,
				   stat_options_long, NULL)) != -1)
		rc = c == '?' ? usage_refuse_option(argv, e) : stat_options_set(o, c, e);
	if (rc == 0 && o->compare)
		rc = stat_options_compared(o, argv + optind, e);
	else if (rc == 0)
		o->command = argv[optind] ? argv + optind : NULL;
	if (o->nruns == 0)
		o->nruns = 1;
	return rc < 0 ? rc : stat_options_check(o, e);
}
