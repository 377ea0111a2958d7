// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/command.h"
#include "tools/pfm/load_pmu.h"
#include "tools/pfm/machine.h"
#include "tools/pfm/samples/names.h"
#include "tools/pfm/stat/counts.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/regions.h"
#include "tools/pfm/stat/report.h"
#include "tools/pfm/stat/runs.h"
#include "tools/pfm/stat/session.h"
#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/tree.h"

enum { STAT_INTERVAL_MIN_MS = 10, STAT_RUNS_MAX = 100000 };

/* How long an event set is active at a time, with --mux. */
static const uint64_t stat_slice_ns = 4000000;

enum stat_option { OPT_MUX = 256, OPT_RERUN, OPT_NO_AGGR, OPT_ALLOW_LOST, OPT_REGIONS };

static const struct option stat_long_options[] = {
	{"event", required_argument, NULL, 'e'},
	{"group", required_argument, NULL, 'g'},
	PLACE_OPTIONS_LONG,
	{"interval", required_argument, NULL, 'I'},
	{"repeat", required_argument, NULL, 'r'},
	{"json", no_argument, NULL, 'j'},
	{"field-separator", required_argument, NULL, 'x'},
	{"output", required_argument, NULL, 'o'},
	{"mux", no_argument, NULL, OPT_MUX},
	{"rerun", no_argument, NULL, OPT_RERUN},
	{"no-aggr", no_argument, NULL, OPT_NO_AGGR},
	{"allow-lost", no_argument, NULL, OPT_ALLOW_LOST},
	{"regions", no_argument, NULL, OPT_REGIONS},
	{0},
};

static const char stat_usage[] =
	"Usage: pfm stat [options] COMMAND [ARG...]\n"
	"       pfm stat [options] -p PID | -t TID | -C LIST | -a [-- COMMAND [ARG...]]\n"
	"Count events of a command and of all that it starts, or of what runs already: until\n"
	"COMMAND ends, or Ctrl-C.\n"
	"\n"
	"  -e, --event=EVENT,...    what to count (see `pfm list`); at user level with :u, in\n"
	"                           the kernel with :k\n"
	"  -g, --group=GROUP        the events of a group, with its metrics\n" PLACE_OPTIONS_USAGE
	"  -I, --interval=MS        print the counts of each interval, of 10 ms or more\n"
	"  -r, --repeat=N           run the command N times: mean, deviation, median, outliers\n"
	"  -j, --json               JSON Lines, see pfm-stat(1)\n"
	"  -x, --field-separator=C  CSV, with that separator\n"
	"  -o, --output=FILE        the file for the counts (default: stderr with a COMMAND,\n"
	"                           stdout without)\n"
	"      --mux                more events than counters: event sets by turns, and\n"
	"                           estimates, each with its share of the time\n"
	"      --rerun              more events than counters: the command once for each set\n"
	"      --no-aggr            one count for each CPU, process or thread\n"
	"      --regions            count the parts of the command that it names by\n"
	"                           pfm_region_begin(3)\n"
	"      --allow-lost         exit as the command does, even if a count is lost\n";

struct stat_run {
	struct session session;
	struct report report;
	struct plan plan;
	struct pfm_pmu pmu;
	struct tree tree;
	struct runs runs;
	struct group_list groups;
	struct regions table; /* of regions */
	const char *events, *group, *output;
	uint64_t nruns;
	bool mux, rerun, allow_lost;
	bool header;          /* it is printed */
	struct counts counts; /* of all passes of this run */
	uint64_t elapsed_ns;
};

/* --- Options */

static int stat_number(const char *text, uint64_t min, uint64_t max, uint64_t *v, struct err *e)
{
	int rc = num_max(slice_of(text), max, v, e);

	if (rc == 0 && *v < min)
		rc = err_set(e, ERANGE, "%llu is too small: give %llu or more",
			(unsigned long long)*v, (unsigned long long)min);
	return rc;
}

static int stat_set_interval(struct stat_run *s, const char *text, struct err *e)
{
	uint64_t ms = 0;
	int rc = stat_number(text, STAT_INTERVAL_MIN_MS, INT_MAX, &ms, e);

	s->session.interval_ns = ms * 1000000;
	s->report.intervals = true;
	return rc < 0 ? err_prefix(e, "-I") : 0;
}

static int stat_set_csv(struct stat_run *s, const char *text, struct err *e)
{
	s->report.format = REPORT_CSV;
	s->report.separator = *text;
	return strlen(text) == 1 && !strchr("\"\n\r-.0123456789", *text)
		       ? 0
		       : err_set(e, EINVAL, "-x %s: give one character, like -x,", text);
}

static int stat_set_output(struct stat_run *s, int c, struct err *e)
{
	switch (c) {
	case 'I':
		return stat_set_interval(s, optarg, e);
	case 'r':
		return stat_number(optarg, 1, STAT_RUNS_MAX, &s->nruns, e) < 0 ? err_prefix(e, "-r")
									       : 0;
	case 'j':
		s->report.format = REPORT_JSON;
		return 0;
	case 'x':
		return stat_set_csv(s, optarg, e);
	case 'o':
		s->output = optarg;
		return 0;
	case OPT_NO_AGGR:
		s->session.per_place = true;
		return 0;
	default:
		return err_set(e, EINVAL,
			"%s: unknown, or without its argument; see `pfm help stat`",
			c == '?' ? "option" : "");
	}
}

static int stat_set(struct stat_run *s, int c, struct err *e)
{
	int rc = place_options_set(&s->session.where, c, optarg, e);

	if (rc)
		return rc < 0 ? rc : 0;
	switch (c) {
	case 'e':
		s->events = optarg;
		return 0;
	case 'g':
		s->group = optarg;
		return 0;
	case OPT_MUX:
		s->mux = true;
		return 0;
	case OPT_RERUN:
		s->rerun = true;
		return 0;
	case OPT_REGIONS:
		s->session.regions = s->report.regions = true;
		return 0;
	case OPT_ALLOW_LOST:
		s->allow_lost = true;
		return 0;
	default:
		return stat_set_output(s, c, e);
	}
}

static int stat_check_options(const struct stat_run *s, struct err *e)
{
	bool again = s->nruns > 1 || s->rerun;

	if (place_options_check(&s->session.where, s->session.argv, e) < 0)
		return -e->no;
	if (!s->session.argv && again)
		return err_set(e, EINVAL, "-r and --rerun need a command to run again");
	if (s->session.regions && (s->session.where.kind != PLACE_COMMAND || again || s->mux ||
					  s->session.interval_ns || s->session.per_place))
		return err_set(e, EINVAL,
			"--regions: a command counts its own parts, so that none of -p, -t, -C, "
			"-a, -I, -r, --mux, --rerun and --no-aggr can be given");
	if (s->mux && s->rerun)
		return err_set(e, EINVAL, "give one of --mux and --rerun");
	if (again && (s->session.interval_ns || s->session.per_place))
		return err_set(e, EINVAL, "neither -I nor --no-aggr with -r or --rerun");
	return 0;
}

static int stat_parse(struct stat_run *s, int argc, char **argv, struct err *e)
{
	int c, rc = 0;

	opterr = 0;
	optind = 1;
	while (rc == 0 && (c = getopt_long(argc, argv, "+e:g:I:r:jx:o:" PLACE_OPTIONS_LETTERS,
				   stat_long_options, NULL)) != -1)
		rc = c == '?' ? err_set(e, EINVAL,
					"%s: unknown, or without its argument; see `pfm help stat`",
					argv[optind - 1])
			      : stat_set(s, c, e);
	s->session.argv = argv[optind] ? argv + optind : NULL;
	return rc < 0 ? rc : stat_check_options(s, e);
}

/* --- What to count */

/* Adds the two ways on to the sentence. */
static int stat_offer_sets(struct err *e)
{
	struct err why = *e;

	return err_set(
		e, why.no, "%.180s; --mux counts by turns, --rerun in several runs", why.text);
}

static int stat_add_events(struct stat_run *s, struct err *e)
{
	int rc = 0;

	if (!s->group && !s->events)
		return plan_add_defaults(&s->plan, &s->pmu, e);
	if (s->group)
		rc = load_groups(&s->groups, e);
	if (rc == 0 && s->group)
		rc = plan_add_group(&s->plan, &s->pmu, &s->groups, s->group, e);
	if (rc == 0 && s->events)
		rc = plan_add(&s->plan, &s->pmu, s->events, e);
	return rc;
}

static int stat_plan(struct stat_run *s, struct err *e)
{
	struct plan *p = &s->plan;
	int rc;

	p->only = -1;
	p->timeout_ns = stat_slice_ns;
	p->level = machine_levels(&s->tree);
	p->free = machine_free_counters(&s->tree, &s->pmu);
	rc = stat_add_events(s, e);
	if (rc == 0)
		rc = plan_assign(p, &s->pmu, s->mux || s->rerun, e);
	return rc == -EBUSY || rc == -ENOSPC ? stat_offer_sets(e) : rc;
}

static int stat_check_threads(const struct stat_run *s, struct err *e)
{
	if (s->session.where.kind != PLACE_CPU && strcmp(s->tree.backend, "sim") == 0)
		return err_set(e, EINVAL,
			"the simulated backend has no threads: count CPUs, with -C or -a");
	return 0;
}

static int stat_open(struct stat_run *s, struct err *e)
{
	int rc = tree_open(&s->tree, s->session.where.mount, e);

	if (rc < 0)
		return rc;
	if (s->tree.fallback)
		fprintf(stderr,
			"pfm stat: no hardware events (msr: %s); counting those of the kernel\n",
			s->tree.reason.text);
	rc = load_pmu(&s->tree, &s->pmu, e);
	if (rc == 0)
		rc = stat_plan(s, e);
	if (rc == 0)
		rc = stat_check_threads(s, e);
	return rc == 0 && s->session.regions ? regions_open(&s->table, &s->tree, &s->plan, e) : rc;
}

/* The counts do not mix with the command's own output. */
static int stat_open_output(struct stat_run *s, struct err *e)
{
	int fd = -1;

	if (s->output) {
		s->report.out = fopen(s->output, "we");
		return s->report.out ? 0 : err_set(e, errno, "%s: %s", s->output, err_name(errno));
	}
	fd = fcntl(s->session.argv ? STDERR_FILENO : STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	s->report.out = fd < 0 ? NULL : fdopen(fd, "w");
	return s->report.out ? 0 : err_set(e, errno, "no output: %s", err_name(errno));
}

static int stat_flush(struct stat_run *s, struct err *e)
{
	return fflush(s->report.out) == 0 && !ferror(s->report.out)
		       ? 0
		       : err_set(e, errno ? errno : EIO, "%s: %s", s->output ? s->output : "output",
				 err_name(errno ? errno : EIO));
}

/* --- Runs */

static void stat_header(struct stat_run *s)
{
	static const char *const what[] = {"", "processes ", "threads ", "CPUs "};
	const struct place_options *where = &s->session.where;
	char text[61];

	if (s->header)
		return;
	s->header = true;
	snprintf(text, sizeof(text), "%s%s", what[where->kind],
		where->kind == PLACE_COMMAND ? s->session.argv[0]
		: where->list                ? where->list
					     : "of this machine");
	name_clean(text);
	report_header(&s->report, text, &s->tree);
}

/* Counts of a pass; those of all passes are shown together. */
static int stat_take(struct session *session, const struct place *place, const struct reading *r,
	uint64_t time_ns, uint64_t elapsed_ns, struct err *e)
{
	struct stat_run *s = session->arg;
	struct counts c;

	counts_of(&c, &s->plan, r);
	s->elapsed_ns = elapsed_ns;
	if (session->interval_ns || place) {
		stat_header(s);
		report_counts(&s->report, place, &c, time_ns, elapsed_ns);
		return stat_flush(s, e);
	}
	for (unsigned i = 0; i < s->plan.n; i++)
		if (c.all[i].counted)
			s->counts.all[i] = c.all[i];
	return 0;
}

static void stat_progress(const struct stat_run *s, unsigned run, int pass)
{
	unsigned passes = s->rerun ? s->plan.nsets : 1;
	unsigned all = (unsigned)s->nruns * passes;

	if (all > 1 && isatty(STDERR_FILENO))
		fprintf(stderr, "\rrun %u of %u\r", run * passes + (unsigned)pass + 1, all);
}

/* Shows the counts of a run. With several, text has their statistics alone, at the end. */
static void stat_show(struct stat_run *s)
{
	runs_add(&s->runs, &s->plan, &s->counts, s->elapsed_ns);
	for (unsigned i = 0; i < s->plan.n; i++)
		s->report.lost |= s->counts.all[i].lost.no != 0;
	stat_header(s);
	if (s->nruns > 1 && s->report.format == REPORT_TEXT)
		return;
	if (!s->session.interval_ns && !s->session.per_place)
		report_counts(&s->report, NULL, &s->counts, s->elapsed_ns, s->elapsed_ns);
	report_times(&s->report, s->session.end_ns - s->session.begin_ns,
		s->session.argv ? &s->session.usage : NULL);
}

/* Shows what the command has counted itself. */
static int stat_show_regions(struct stat_run *s, struct err *e)
{
	__attribute__((cleanup(regions_free))) struct region_sums sums = {0};
	uint64_t time_ns = s->session.end_ns - s->session.begin_ns;
	int rc = regions_sum(&s->table, &s->plan, &sums, e);

	if (rc < 0)
		return rc;
	stat_header(s);
	for (unsigned i = 0; i < sums.n; i++) {
		name_clean(sums.all[i].name);
		report_region(&s->report, &sums.all[i], time_ns);
	}
	if (sums.failure.no) {
		s->report.lost = true;
		fprintf(stderr, "pfm stat: a thread of the command has no counts: %s\n",
			sums.failure.text);
	} else if (!sums.n) {
		fputs("pfm stat: the command was in no region, see pfm_region_begin(3)\n", stderr);
	}
	return 0;
}

static int stat_run_once(struct stat_run *s, unsigned run, struct err *e)
{
	int passes = s->rerun ? (int)s->plan.nsets : 1, rc = 0;

	s->counts = (struct counts){0};
	for (int pass = 0; rc == 0 && pass < passes; pass++) {
		s->plan.only = s->rerun ? pass : -1;
		stat_progress(s, run, pass);
		rc = session_run(&s->session, e);
	}
	s->plan.only = -1;
	/* A run that was cut short is shown if it is the only one, and no part of the statistics.
	 */
	if (rc == 0 && s->session.regions)
		rc = stat_show_regions(s, e);
	else if (rc == 0 && (!s->session.interrupted || s->runs.n == 0))
		stat_show(s);
	return rc < 0 ? rc : stat_flush(s, e);
}

/* The exit status of a failure. Without the daemon, the counts of the command are lost. */
static int stat_failed(const struct stat_run *s, int rc)
{
	if (s->session.refused)
		return s->session.refused;
	if (!s->session.counted || !file_is_gone(-rc))
		return rc;
	return s->session.status ? s->session.status : PFM_EXIT_LOST;
}

static int stat_measure(struct stat_run *s, struct err *e)
{
	int rc = runs_init(&s->runs, (unsigned)s->nruns, e), status = 0;

	if (rc == 0)
		rc = signals_open(&s->session.signals, e);
	for (unsigned run = 0; rc == 0 && run < s->nruns && !s->session.interrupted; run++) {
		s->report.run = run + 1;
		rc = stat_run_once(s, run, e);
		if (!status)
			status = s->session.status;
	}
	if (s->runs.n && s->nruns > 1 && s->report.format == REPORT_TEXT)
		report_summary(&s->report, &s->runs);
	if (rc < 0)
		return stat_failed(s, rc);
	/* Lost counts have left a sentence, which is in the report. */
	*e = (struct err){0};
	rc = stat_flush(s, e);
	if (rc == 0 && !status && s->report.lost && !s->allow_lost)
		return PFM_EXIT_LOST;
	return rc < 0 ? rc : status;
}

static int stat_main(int argc, char **argv, struct err *e)
{
	struct stat_run s = {
		.session = {.signals = SIGNALS_NONE,
			.report = stat_take,
			.tree = &s.tree,
			.plan = &s.plan,
			.arg = &s},
		.report = {.plan = &s.plan},
		.tree = {.dir = -1},
		.table = REGIONS_NONE,
		.nruns = 1,
	};
	int rc = stat_parse(&s, argc, argv, e);

	if (rc == 0)
		rc = stat_open_output(&s, e);
	if (rc == 0)
		rc = stat_open(&s, e);
	if (rc == 0)
		rc = stat_measure(&s, e);
	signals_close(&s.session.signals);
	runs_free(&s.runs);
	regions_close(&s.table);
	plan_free(&s.plan);
	pfm_pmu_free(&s.pmu);
	group_free(&s.groups);
	tree_close(&s.tree);
	if (s.report.out)
		fclose(s.report.out);
	return rc;
}

const struct pfm_command cmd_stat = {
	.name = "stat",
	.summary = "count events of a command, of processes, threads or CPUs",
	.usage = stat_usage,
	.run = stat_main,
};
