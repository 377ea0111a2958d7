// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tools/pfm/command.h"
#include "tools/pfm/events/event_terms.h"
#include "tools/pfm/load_plan.h"
#include "tools/pfm/load_pmu.h"
#include "tools/pfm/machine.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/stat/comparison.h"
#include "tools/pfm/stat/counts.h"
#include "tools/pfm/stat/input.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/regions.h"
#include "tools/pfm/stat/report.h"
#include "tools/pfm/stat/session.h"
#include "tools/pfm/stat/stat_options.h"
#include "tools/pfm/stat/statistics.h"
#include "tools/pfm/stat/tally.h"
#include "tools/pfm/text/output.h"
#include "tools/pfm/text/progress.h"
#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/tree.h"

/* The time for which an event set is active in each turn, with --mux. */
static const uint64_t stat_slice_ns = 4000000;

struct stat_run {
	struct stat_options options;
	struct session session;
	struct report report;
	struct plans plans;
	struct pmus pmus;
	struct tree tree;
	struct tallies tallies[2];    /* of the command, or of the two that are compared */
	unsigned command;             /* index of the current command in tallies */
	char *shell[4];               /* sh -c LINE, the current command of a comparison */
	struct regions table;         /* of regions */
	bool header;                  /* the header was printed */
	struct input input;           /* of the command */
	bool failed;                  /* a run failed, which ends the runs */
	char label[COMPARISON_LABEL]; /* the current command's, for sentences */
};

/* --- What to count */

/* Adds the two alternatives to the sentence. */
static int stat_offer_sets(struct err *e)
{
	struct err why = *e;

	return err_set(
		e, why.no, "%.180s; --mux counts them in turns, --rerun in several runs", why.text);
}

/* Adds what uses a counter that the events need, if there is room for that in the sentence. */
static void stat_name_user(const struct stat_run *s, const struct plan *p, struct err *e)
{
	char room[MACHINE_USER_ROOM];
	uint64_t counters = 0;
	const char *user;

	for (unsigned i = 0; i < p->n; i++)
		counters |= p->events[i].counters;
	user = machine_user(&s->tree, p->pmu, counters & ~p->free, room);
	if (user && strlen(user) + strlen(": ") + strlen(e->text) < sizeof(e->text))
		err_prefix(e, "%s", user);
}

static int stat_plan(struct stat_run *s, struct err *e)
{
	struct plans *plans = &s->plans;
	int rc = load_plans(&s->options.wanted, &s->tree, &s->pmus, &s->options.where, plans, e);

	for (unsigned i = 0; rc == 0 && i < plans->n; i++) {
		struct plan *p = &plans->all[i];

		p->timeout_ns = stat_slice_ns;
		rc = plan_assign(p, p->pmu, s->options.mux || s->options.rerun, e);
		/* Turns would not make room for a single event. */
		if ((rc == -EBUSY || rc == -ENOSPC) && p->n > 1)
			rc = stat_offer_sets(e);
		if (rc == -EBUSY)
			stat_name_user(s, p, e);
		if (rc < 0 && p->pmu->type[0])
			err_prefix(e, "CPUs of type %s", p->pmu->type);
	}
	return rc;
}

/* Whether only rows for programs are written to stderr. */
static bool stat_is_alone(const struct stat_run *s)
{
	const struct stat_options *o = &s->options;

	return o->format != REPORT_TEXT && !o->output && (o->command || o->compare);
}

static int stat_tell(const struct stat_run *s, struct err *e)
{
	if (!stat_is_alone(s))
		tree_tell(&s->tree, "stat", "counting those of the kernel");
	else if (tree_surprises(&s->tree))
		return err_set(e, EINVAL,
			"%s simulates a PMU: unmount it or, if you want its numbers, name it with "
			"--mount",
			s->tree.found);
	return 0;
}

/* Whether @list begins with an event. */
static bool stat_is_event(const struct stat_run *s, const char *list)
{
	struct slice rest = slice_of(list), first = event_terms_cut(&rest);
	char name[EVENT_TEXT];
	struct pfm_event event;
	struct err e;

	snprintf(name, sizeof(name), "%.*s", SLICE_ARG(first));
	return event_resolve(s->plans.all[0].pmu, name, &event, &e) == 0;
}

/* Explains that "-e EVENT" after the command belongs to the command, as it may be meant for pfm. */
static void stat_tell_late_options(const struct stat_run *s)
{
	const struct stat_options *o = &s->options;

	if (!o->command || o->wanted.events || o->wanted.group)
		return;
	for (char *const *word = o->command + 1; word[0] && word[1]; word++)
		if (strcmp(word[0], "-e") == 0 && stat_is_event(s, word[1]))
			fprintf(stderr,
				"pfm stat: -e %s comes after the command and is passed to it: put "
				"pfm's options before the command\n",
				word[1]);
}

static int stat_open(struct stat_run *s, struct err *e)
{
	int rc = tree_open(&s->tree, s->options.where.mount, e);

	if (rc < 0)
		return rc;
	rc = stat_tell(s, e);
	if (rc == 0)
		rc = load_pmus(&s->tree, &s->pmus, e);
	if (rc == 0)
		rc = stat_plan(s, e);
	if (rc == 0 && !stat_is_alone(s))
		stat_tell_late_options(s);
	if (rc == 0)
		rc = places_check_tree(&s->options.where, &s->tree, e);
	return rc == 0 && s->options.regions
		       ? regions_open(&s->table, &s->tree, &s->plans.all[0], e)
		       : rc;
}

/* The counts are not mixed with the command's own output. */
static int stat_open_output(struct stat_run *s, struct err *e)
{
	const struct output_how how = {.mode = 0666, .append = s->options.append};
	int fd;

	if (s->options.output) {
		fd = output_open(s->options.output, &how, e);
		if (fd < 0)
			return fd;
	} else {
		fd = fcntl(s->options.command || s->options.compare ? STDERR_FILENO : STDOUT_FILENO,
			F_DUPFD_CLOEXEC, 0);
	}
	s->report.out = fd < 0 ? NULL : fdopen(fd, "w");
	return s->report.out ? 0 : err_set(e, errno, "no output: %s", err_name(errno));
}

/* Each run gets the same input. The output of repeated runs is discarded unless it is wanted. */
static int stat_redirect(struct stat_run *s, struct err *e)
{
	const struct stat_options *o = &s->options;
	bool repeats = o->nruns > 1 || o->compare;
	CLEANUP_CLOSE int null = -1;

	if (!o->command && !o->compare)
		return 0;
	if (input_open(&s->input, o->input, repeats || o->rerun || o->nwarmups, e) < 0)
		return -e->no;
	if (!repeats || o->show_output)
		return 0;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return null < 0 || dup2(null, STDOUT_FILENO) < 0
		       ? err_set(e, errno, "/dev/null: %s", err_name(errno))
		       : 0;
}

static int stat_flush(struct stat_run *s, struct err *e)
{
	return fflush(s->report.out) == 0 && !ferror(s->report.out)
		       ? 0
		       : err_set(e, errno ? errno : EIO,
				 "cannot write %s: %s (choose another with -o FILE)",
				 s->options.output ? s->options.output : "the counts",
				 err_name(errno ? errno : EIO));
}

/* --- Runs */

static void stat_label(char label[COMPARISON_LABEL], const char *what, const char *name)
{
	snprintf(label, COMPARISON_LABEL, "%s%s", what, name);
	name_clean(label);
}

static void stat_header(struct stat_run *s)
{
	static const char *const what[] = {"", "processes ", "threads ", "CPUs "};
	const struct place_options *where = &s->options.where;
	char label[COMPARISON_LABEL];

	if (s->header)
		return;
	s->header = true;
	stat_label(label, what[where->kind],
		where->kind == PLACE_COMMAND ? s->options.command[0]
		: where->list                ? where->list
					     : "of this machine");
	report_header(&s->report, label, &s->tree);
}

/* Takes the counts of a pass. The counts of all passes are shown together. */
static int stat_take(struct session *session, const struct scope *scope, const struct plan *plan,
	const struct reading *r, uint64_t time_ns, uint64_t elapsed_ns, struct err *e)
{
	struct stat_run *s = session->arg;
	struct counts c;

	counts_of(&c, plan, r, elapsed_ns);
	if (!session->interval_ns)
		return tallies_take(
			&s->tallies[s->command], scope, &c, plan, elapsed_ns, s->options.nruns, e);
	stat_header(s);
	s->report.plan = plan;
	report_counts(&s->report, scope, &c, time_ns);
	return stat_flush(s, e);
}

/* The number of runs in which each event set of each type of CPUs is counted once. */
static unsigned stat_passes(const struct stat_run *s)
{
	unsigned passes = 1;

	for (unsigned i = 0; s->options.rerun && i < s->plans.n; i++)
		passes = s->plans.all[i].nsets > passes ? s->plans.all[i].nsets : passes;
	return passes;
}

static void stat_set_only(struct stat_run *s, int set)
{
	for (unsigned i = 0; i < s->plans.n; i++)
		s->plans.all[i].only = set;
}

/* Shows progress before pass @pass of run @n, which counts from 0. */
static void stat_progress(const struct stat_run *s, unsigned n, int pass)
{
	unsigned passes = stat_passes(s);
	unsigned all = (unsigned)s->options.nruns * passes * (s->options.compare ? 2 : 1);

	if (all > 1)
		progress_show("run %u of %u", n * passes + (unsigned)pass + 1, all);
}

/* Adds the counts of a scope to the statistics, and shows them if @show. */
static void stat_show_tally(struct stat_run *s, struct tally *t, bool show)
{
	s->report.plan = t->plan;
	runs_add(&t->runs, t->plan, &t->counts, t->elapsed_ns);
	for (unsigned i = 0; i < t->plan->n; i++)
		s->report.lost |= t->counts.all[i].lost != NULL;
	if (show)
		report_counts(&s->report, t->scope, &t->counts, t->elapsed_ns);
}

/* Shows the counts of a run. With several runs, text shows only statistics, at the end. */
static void stat_show(struct stat_run *s)
{
	const struct stat_options *o = &s->options;
	const struct tallies *t = &s->tallies[s->command];
	bool show = !o->compare && (o->nruns == 1 || o->format != REPORT_TEXT);

	if (!o->compare)
		stat_header(s);
	for (unsigned i = 0; i < t->n; i++)
		if (t->all[i]->counted)
			stat_show_tally(s, t->all[i], show);
	if (show)
		report_times(&s->report, s->session.end_ns - s->session.begin_ns,
			o->command ? &s->session.usage : NULL);
}

/* Shows the counts of regions, which the command has counted itself. */
static int stat_show_regions(struct stat_run *s, struct err *e)
{
	__attribute__((cleanup(regions_free))) struct region_list list = {0};
	uint64_t time_ns = s->session.end_ns - s->session.begin_ns;
	int rc = regions_list(&s->table, &list, e);
	struct region_sum sum;

	if (rc < 0)
		return rc;
	stat_header(s);
	while (regions_next(&list, &s->plans.all[0], &sum)) {
		name_clean(sum.name);
		report_region(&s->report, &sum, time_ns);
	}
	if (list.failure.no) {
		s->report.lost = true;
		fprintf(stderr, "pfm stat: a thread of the command has no counts: %s\n",
			list.failure.text);
	} else if (!list.n) {
		fputs("pfm stat: the command entered no region: see pfm_region_begin(3)\n", stderr);
	}
	return 0;
}

/* Does everything that comes before a run and is not counted. */
static int stat_before(struct stat_run *s, struct err *e)
{
	char sh[] = "sh", option[] = "-c";
	char *argv[] = {sh, option, (char *)(uintptr_t)s->options.prepare, NULL};

	if (s->options.prepare && session_run_uncounted(&s->session, argv, e) < 0)
		return -e->no;
	if (s->options.prepare && s->session.status && !s->session.interrupted)
		return err_set(e, ECHILD, "--prepare %.200s: exit status %d", s->options.prepare,
			s->session.status);
	return input_rewind(&s->input, e);
}

/* A run that fails ends repeated runs, since it has not done the same work. */
static void stat_check_status(struct stat_run *s, const char *run)
{
	const struct stat_options *o = &s->options;
	int status = s->session.status;
	bool missing = o->compare && (status == PFM_EXIT_NOT_FOUND || status == PFM_EXIT_CANNOT);

	if (!status || s->session.interrupted || (o->nruns == 1 && !o->compare) ||
		(o->ignore_failure && !missing))
		return;
	s->failed = true;
	fprintf(stderr, "pfm stat: %s, %s: exit status %d%s\n", s->label, run, status,
		status == PFM_EXIT_NOT_FOUND && missing ? ": there is no such command"
		: missing                               ? ": it cannot be executed"
							: " (--ignore-failure goes on)");
}

/* Does one run of the command, or of one of the two that are compared. */
static int stat_run_once(struct stat_run *s, unsigned n, struct err *e)
{
	int passes = (int)stat_passes(s), rc = 0, status = 0;
	char run[24];

	tallies_clear(&s->tallies[s->command]);
	s->session.interrupted = false;
	for (int pass = 0; rc == 0 && pass < passes && !s->session.interrupted; pass++) {
		stat_set_only(s, s->options.rerun ? pass : -1);
		stat_progress(s, n, pass);
		rc = stat_before(s, e);
		tallies_pass(&s->tallies[s->command]);
		if (rc == 0 && !s->session.interrupted)
			rc = session_run(&s->session, e);
		status = status ? status : s->session.status;
	}
	s->session.status = status;
	progress_clear();
	stat_set_only(s, -1);
	snprintf(run, sizeof(run), "run %u", s->report.run);
	if (rc == 0)
		stat_check_status(s, run);
	/* A run that was cut short is shown if it is the only one, but is not part of the
	 * statistics. */
	if (rc == 0 && s->options.regions)
		rc = stat_show_regions(s, e);
	else if (rc == 0 && !s->failed &&
		 (!s->session.interrupted || (n == 0 && !s->options.compare && s->session.counted)))
		stat_show(s);
	return rc < 0 ? rc : stat_flush(s, e);
}

/* Chooses one of the commands. @argv is the command line of sh, for --compare. */
static void stat_choose(struct stat_run *s, unsigned command, char **argv)
{
	s->command = command;
	argv[2] = s->options.compared[command];
	stat_label(s->label, "", s->options.compare ? argv[2] : s->options.command[0]);
}

static int stat_warm(struct stat_run *s, unsigned commands, char **argv, struct err *e)
{
	int rc = 0;

	for (unsigned n = 0; rc == 0 && n < s->options.nwarmups * commands && !s->failed &&
			     !s->session.interrupted;
		n++) {
		stat_choose(s, n % commands, argv);
		rc = stat_before(s, e);
		if (rc == 0 && !s->session.interrupted)
			rc = session_run_uncounted(&s->session, s->session.argv, e);
		if (rc == 0)
			stat_check_status(s, "a warm-up");
	}
	return rc;
}

/* Runs everything. Two commands take turns, so that changes on the machine affect both. */
static int stat_run_all(struct stat_run *s, int *status, struct err *e)
{
	char sh[] = "sh", option[] = "-c";
	char *argv[] = {sh, option, NULL, NULL};
	unsigned commands = s->options.compare ? 2 : 1;
	int rc;

	if (s->options.compare)
		s->session.argv = argv;
	rc = stat_warm(s, commands, argv, e);
	*status = s->failed || s->session.interrupted ? s->session.status : 0;
	for (unsigned n = 0;
		rc == 0 && n < s->options.nruns * commands && !s->session.interrupted && !s->failed;
		n++) {
		if (s->session.argv)
			stat_choose(s, n % commands, argv);
		s->report.run = n / commands + 1;
		rc = stat_run_once(s, n, e);
		if (!*status)
			*status = s->session.status;
	}
	return rc;
}

static void stat_compare(struct stat_run *s)
{
	const struct tallies *t = s->tallies;
	char labels[2][COMPARISON_LABEL];

	if (!t[1].n || !t[1].all[0]->runs.n) {
		fputs("pfm stat: nothing to compare: at least one command never ran to its end\n",
			stderr);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		stat_label(labels[i], "", s->options.compared[i]);
	comparison_begin(&s->report, labels, (unsigned[]){t[0].all[0]->runs.n, t[1].all[0]->runs.n},
		&s->tree);
	/* Each type of CPUs has counts of its own. Both commands are counted on all types. */
	for (unsigned i = 0; i < t[0].n && i < t[1].n; i++) {
		s->report.plan = t[0].all[i]->plan;
		comparison_report(&s->report, &t[0].all[i]->runs, &t[1].all[i]->runs);
	}
	comparison_end(&s->report, &t[0].all[0]->runs, &t[1].all[0]->runs);
}

static void stat_summarize(struct stat_run *s)
{
	const struct tallies *t = s->tallies;
	const struct runs *all;

	if (s->options.compare && s->session.counted && !s->failed)
		stat_compare(s);
	if (s->options.compare || s->options.nruns == 1 || !t->n)
		return;
	/* A thread may have been there in a few runs only. */
	all = &t->all[0]->runs;
	for (unsigned i = 1; i < t->n; i++)
		if (t->all[i]->runs.n > all->n)
			all = &t->all[i]->runs;
	if (!all->n)
		return;
	statistics_begin(&s->report, all->n);
	for (unsigned i = 0; i < t->n; i++) {
		s->report.plan = t->all[i]->plan;
		statistics_report(&s->report, t->all[i]->scope, &t->all[i]->runs);
	}
	s->report.plan = t->all[0]->plan;
	statistics_end(&s->report, all);
}

/* The command was not executed. perf stat has commands of its own, which may have been meant. */
static int stat_refused(const struct stat_run *s, struct err *e)
{
	const char *name = s->options.command ? s->options.command[0] : "";

	if (strcmp(name, "report") == 0 || strcmp(name, "record") == 0)
		err_set(e, e->no,
			"%s: no such command: pfm stat -j -o FILE COMMAND writes counts to a file, "
			"and pfm %s is for samples",
			name, name);
	return s->session.refused;
}

/* The exit status after a failure. If the daemon has ended, the counts of the command are lost. */
static int stat_failed(const struct stat_run *s, int rc, struct err *e)
{
	if (s->session.refused)
		return stat_refused(s, e);
	if (!s->session.counted || !file_is_gone(-rc))
		return rc;
	return s->session.status ? s->session.status : PFM_EXIT_LOST;
}

static int stat_measure(struct stat_run *s, struct err *e)
{
	int rc = signals_open(&s->session.signals, e), status = 0;

	if (rc == 0)
		rc = stat_run_all(s, &status, e);
	stat_summarize(s);
	if (rc < 0)
		return stat_failed(s, rc, e);
	/* Lost counts have set a sentence, which is already in the report. */
	*e = (struct err){0};
	if (s->session.missing.no) {
		s->report.lost = true;
		fprintf(stderr, "pfm stat: threads are missing: %s\n", s->session.missing.text);
	}
	rc = stat_flush(s, e);
	if (rc == 0 && !status && s->report.lost && !s->options.allow_lost)
		return PFM_EXIT_LOST;
	return rc < 0 ? rc : status;
}

static void stat_begin(struct stat_run *s)
{
	const struct stat_options *o = &s->options;

	s->session.where = o->where;
	s->session.argv = o->command;
	s->session.interval_ns = o->interval_ns;
	s->session.aggregate = o->aggregate;
	s->session.repeats = o->nruns > 1 || o->rerun;
	s->session.flags = o->background ? "background" : o->gaps ? "gaps" : NULL;
	s->report.gaps = o->background ? REPORT_COUNTED
			 : o->gaps     ? REPORT_UNCERTAIN
				       : REPORT_NO_GAPS;
	s->session.regions = s->report.regions = o->regions;
	s->report.format = o->format;
	s->report.separator = o->separator;
	s->report.intervals = o->interval_ns != 0;
	s->report.statistics = o->nruns > 1;
	s->report.topology = o->aggregate == AGGREGATE_CORE || o->aggregate == AGGREGATE_SOCKET;
}

static int stat_main(int argc, char **argv, struct err *e)
{
	struct stat_run s = {
		.session = {.signals = SIGNALS_NONE,
			.report = stat_take,
			.tree = &s.tree,
			.plans = &s.plans,
			.arg = &s},
		.report = {.plan = &s.plans.all[0]},
		.tree = {.dir = -1},
		.table = REGIONS_NONE,
	};
	int rc = stat_options_parse(&s.options, argc, argv, e);

	stat_begin(&s);
	if (rc == 0)
		rc = stat_open_output(&s, e);
	if (rc == 0)
		rc = stat_open(&s, e);
	if (rc == 0)
		rc = stat_redirect(&s, e);
	if (rc == 0)
		rc = stat_measure(&s, e);
	signals_close(&s.session.signals);
	tallies_free(&s.tallies[0]);
	tallies_free(&s.tallies[1]);
	regions_close(&s.table);
	plans_free(&s.plans);
	pmus_free(&s.pmus);
	tree_close(&s.tree);
	if (s.report.out)
		fclose(s.report.out);
	return rc;
}

const struct pfm_command cmd_stat = {
	.name = "stat",
	.summary = "count events of a command, processes, threads or CPUs",
	.usage = stat_options_usage,
	.options = stat_options_rows,
	.runs_command = true,
	.run = stat_main,
};
