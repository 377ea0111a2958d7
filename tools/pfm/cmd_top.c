// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/command.h"
#include "tools/pfm/events/event_terms.h"
#include "tools/pfm/load_plan.h"
#include "tools/pfm/load_pmu.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/stat/signals.h"
#include "tools/pfm/top/contexts.h"
#include "tools/pfm/top/rows.h"
#include "tools/pfm/top/screen.h"
#include "tools/pfm/top/table.h"
#include "tools/pfm/top_functions.h"
#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/tree.h"

enum { TOP_HZ = 1000, TOP_INTERVAL_MIN_MS = 100, TOP_HEAD_LINES = 3, TOP_CTRL_C = 3 };

static const struct option_row top_options[] = {
	{'e', "event", "EVENT,...",
		"what to count (see `pfm list`); at user level by :u, in the kernel by :k", 0},
	{'g', "group", "GROUP", "the events of a group", 0},
	{'p', "pid", "PID,...", "the threads of processes", 0},
	{'t', "tid", "TID,...", "threads", 0},
	{'C', "cpu", "LIST", "CPUs, like 0-3,8", 0},
	{'G', "cgroup", "CGROUP", "the threads of the processes of a control group", 0},
	{'a', "all-cpus", NULL, "all CPUs that are online", 0},
	{'B', "by", "WHAT",
		"thread, or process: the sum of its threads in a row; context: what the contexts "
		"of "
		"the mount count",
		0},
	{'s', "sort", "EVENT", "largest first (default: the first); id: by number", 0},
	{'f', "functions", NULL,
		"the functions in which the time goes, by samples; with -e, where that event "
		"occurs",
		0},
	{'F', "freq", "HZ", "with -f: samples a second (default: 1000)", 0},
	{'I', "interval", "MS", "between two tables, 100 or more (default: 1000)", 0},
	{'n', "count", "N", "end after N tables", 0},
	{'b', "batch", NULL, "plain lines with their time, as without a terminal", 0},
	MOUNT_OPTION,

	/* top and perf top */
	{OPTION_LONG, "stdio", NULL, NULL, OPTION_DEFAULT},
	{'v', "verbose", NULL, NULL, OPTION_DEFAULT},
	{'d', "delay", "SECONDS", "is it -I, in milliseconds, as -I 2000?", OPTION_FOREIGN},
	{'c', NULL, "PERIOD", "is it -f with -F HZ? pfm record -a has -c", OPTION_FOREIGN},
	{'G', NULL, NULL, "functions and their callers: pfm record -g, then pfm report --tree",
		OPTION_FOREIGN},
	{OPTION_LONG, "call-graph", "HOW",
		"functions and their callers: pfm record -g, then pfm report --tree",
		OPTION_FOREIGN},
	{'H', "threads", NULL, "is it --by=thread with -p PID?", OPTION_FOREIGN},
	{'u', "uid", "USER", "give processes, as -p $(pgrep -d, -u USER)", OPTION_FOREIGN},
	{'K', NULL, NULL, "write :u behind each event, as in -e cycles:u", OPTION_FOREIGN},
	{'U', NULL, NULL, "write :k behind each event, as in -e cycles:k", OPTION_FOREIGN},
	{0},
};

struct top_run {
	struct top top;
	struct contexts contexts;
	struct table table;
	struct screen screen;
	struct signals signals;
	struct plans plans; /* only one is used */
	struct pmus pmus;
	struct tree tree;
	struct plan_events wanted;
	const char *sort;
	uint64_t interval_ns, begin_ns, count;
	struct functions functions;
	uint64_t hz;        /* of @functions; 0: not given */
	bool by_function;   /* only @functions is used, not @top and @plans */
	bool by_context;    /* only @contexts is used, not @top and @plans */
	bool batch, header; /* @header: it was printed */
	bool lost;          /* a printed count was lost */
};

/* --- Options */

static int top_set_number(const char *option, uint64_t min, uint64_t *v, struct err *e)
{
	return num_within(slice_of(optarg), min, INT_MAX, v, e) < 0 ? err_prefix(e, "%s", option)
								    : 0;
}

static int top_set_by(struct top_run *r, struct err *e)
{
	r->top.by_process = strcmp(optarg, "process") == 0;
	r->by_context = strcmp(optarg, "context") == 0;
	return r->top.by_process || r->by_context || strcmp(optarg, "thread") == 0
		       ? 0
		       : err_set(e, EINVAL, "--by: give thread, process or context");
}

static int top_set_interval(struct top_run *r, struct err *e)
{
	uint64_t ms = 0;
	int rc = top_set_number("-I", TOP_INTERVAL_MIN_MS, &ms, e);

	r->interval_ns = ms * 1000000;
	return rc;
}

static int top_set(struct top_run *r, int c, struct err *e)
{
	int rc = place_options_set(&r->top.where, c, optarg, e);

	if (rc)
		return rc < 0 ? rc : 0;
	switch (c) {
	case 'e':
		return options_set_once(&r->wanted.events, "-e", optarg, e);
	case 'g':
		return options_set_once(&r->wanted.group, "-g", optarg, e);
	case 'B':
		return top_set_by(r, e);
	case 's':
		r->sort = optarg;
		return 0;
	case 'I':
		return top_set_interval(r, e);
	case 'n':
		return top_set_number("-n", 1, &r->count, e);
	case 'F':
		return top_set_number("-F", 1, &r->hz, e);
	case 'f':
		r->by_function = true;
		return 0;
	default:
		r->batch = true;
		return 0;
	}
}

/* Contexts count what their owners chose, where they were loaded. */
static int top_check_by(const struct top_run *r, struct err *e)
{
	bool chosen = r->wanted.events || r->wanted.group || r->sort ||
		      r->top.where.kind != PLACE_COMMAND;

	return r->by_context && chosen
		       ? err_set(e, EINVAL,
				 "--by=context shows each context with its own events and place: "
				 "leave out -e, -g, -s, -p, -t, -C and -a")
		       : 0;
}

/* Takes what is to be sampled, with -f. */
static int top_want_functions(struct top_run *r, struct err *e)
{
	struct record_wanted *w = &r->functions.wanted;
	struct slice rest = slice_of(r->wanted.events ? r->wanted.events : ""), name;

	if (!r->by_function)
		return r->hz ? err_set(e, EINVAL,
				       "-F is for samples: give -f, too, or use pfm record")
			     : 0;
	if (r->wanted.group || r->sort || r->by_context || r->top.by_process)
		return err_set(e, EINVAL, "-f shows functions: leave out -g, -s and -B");
	name = event_terms_cut(&rest);
	if (rest.n || name.n >= EVENT_TEXT)
		return err_set(e, EINVAL, "-f samples one event: give one by -e");
	if (r->hz > RECORD_HZ_MAX)
		return err_set(e, EINVAL, "-F: give at most %d", RECORD_HZ_MAX);
	snprintf(w->events[0].name, EVENT_TEXT, "%.*s", (int)name.n, name.p);
	w->nevents = name.n != 0;
	w->pace.hz = r->hz || !name.n ? r->hz : TOP_HZ;
	w->where = r->top.where;
	return 0;
}

static int top_parse(struct top_run *r, int argc, char **argv, struct err *e)
{
	int c, rc = 0;

	while (rc == 0 && (c = options_next(&cmd_top, argc, argv, e)) != 0)
		rc = c < 0 ? c : top_set(r, c, e);
	if (rc == 0 && argv[optind])
		return err_set(e, EINVAL, "%s: pfm top takes no command; see `pfm help top`",
			argv[optind]);
	if (rc == 0)
		rc = top_check_by(r, e);
	if (r->top.where.kind == PLACE_COMMAND)
		r->top.where.kind = PLACE_CPU;
	if (rc == 0)
		rc = top_want_functions(r, e);
	if (!r->interval_ns)
		r->interval_ns = (r->by_function ? 2 : 1) * NSEC_PER_SEC;
	return rc;
}

/* --- What to count */

static int top_sort_column(struct top_run *r, struct err *e)
{
	if (!r->sort)
		return 0;
	r->table.sort = -1;
	for (unsigned i = 0; i < r->plans.all[0].n; i++)
		if (strcmp(r->plans.all[0].events[i].name, r->sort) == 0)
			r->table.sort = (int)i;
	return r->table.sort >= 0 || strcmp(r->sort, "id") == 0
		       ? 0
		       : err_set(e, EINVAL, "-s %s: give one of the events, or id", r->sort);
}

/* The time that passes on a CPU says nothing about its work. */
static void top_choose_events(struct top_run *r)
{
	bool chosen = r->wanted.events || r->wanted.group || r->top.where.kind != PLACE_CPU;

	if (!chosen && strcmp(r->tree.backend, "perf") == 0)
		r->wanted.events = "context-switches,cpu-migrations,page-faults,major-faults";
}

static int top_plan(struct top_run *r, struct err *e)
{
	int rc;

	top_choose_events(r);
	rc = load_plans(&r->wanted, &r->tree, &r->pmus, NULL, &r->plans, e);

	if (rc == 0)
		rc = plan_assign(&r->plans.all[0], &r->pmus.common, false, e);
	return rc < 0 ? rc : top_sort_column(r, e);
}

/* Sets the columns of a table of CPUs, threads or processes that are not counts. */
static void top_choose_columns(struct top_run *r)
{
	r->table.commands = r->top.where.kind != PLACE_CPU;
	r->table.id = !r->table.commands ? "CPU" : r->top.by_process ? "PID" : "TID";
}

/* Begins to count what the options name. */
static int top_begin_counting(struct top_run *r, struct err *e)
{
	int rc = top_plan(r, e);

	top_choose_columns(r);
	if (rc == 0)
		rc = places_check_tree(&r->top.where, &r->tree, e);
	return rc < 0 ? rc : top_open(&r->top, e);
}

static int top_begin(struct top_run *r, struct err *e)
{
	int rc = tree_open(&r->tree, r->top.where.mount, e);

	if (rc == 0 && r->by_context && r->tree.daemon)
		return err_set(e, ENOENT,
			"perfmonfs is not mounted, so that there are no contexts: give a mount "
			"with --mount");
	if (rc == 0)
		rc = load_pmus(&r->tree, &r->pmus, e);
	if (rc == 0)
		rc = signals_open(&r->signals, e);
	if (rc < 0)
		return rc;
	if (r->by_function)
		return places_check_tree(&r->top.where, &r->tree, e) < 0
			       ? -e->no
			       : functions_begin(&r->functions, &r->tree, e);
	return r->by_context ? contexts_read(&r->contexts, e) : top_begin_counting(r, e);
}

/* --- Tables */

static int top_read_rows(struct top_run *r, struct err *e)
{
	if (r->by_context)
		return contexts_read(&r->contexts, e);
	if (r->by_function)
		return functions_read(&r->functions, e);
	top_choose_columns(r);
	return top_read(&r->top, e);
}

static void top_header(const struct top_run *r, struct text *t)
{
	if (r->by_context)
		contexts_header(t);
	else if (r->by_function)
		text_append(t, r->functions.title.p, r->functions.title.n);
	else
		table_header(t, &r->table, &r->plans.all[0]);
}

static unsigned top_rows(const struct top_run *r)
{
	return r->by_context ? r->contexts.n : r->by_function ? r->functions.n : r->top.n;
}

static void top_row(const struct top_run *r, struct text *t, unsigned i)
{
	if (r->by_context)
		contexts_row(t, &r->contexts, i);
	else if (r->by_function)
		text_append(t, r->functions.rows[i].p, r->functions.rows[i].n);
	else
		table_row(t, &r->table, &r->plans.all[0], &r->top.rows[i]);
}

static bool top_has_lost(const struct top_run *r)
{
	for (unsigned i = 0; !r->by_context && i < r->top.n; i++)
		for (unsigned event = 0; event < r->plans.all[0].n; event++)
			if (isnan(r->top.rows[i].rates[event]))
				return true;
	return r->contexts.lost;
}

/* Prints each row as a line that begins with its time. */
static int top_print(struct top_run *r, uint64_t now_ns, struct err *e)
{
	TEXT_CLEANUP struct text t = {0};

	r->lost |= top_has_lost(r);
	if (!r->header) {
		text_printf(&t, "%10s ", "TIME");
		top_header(r, &t);
		text_printf(&t, "\n");
		r->header = true;
	}
	for (unsigned i = 0; i < top_rows(r); i++) {
		text_printf(&t, "%10.4f ", (double)(now_ns - r->begin_ns) / (double)NSEC_PER_SEC);
		top_row(r, &t, i);
		text_printf(&t, "\n");
	}
	if (!text_ok(&t))
		return err_set(e, ENOMEM, "no memory");
	fputs(t.p ? t.p : "", stdout);
	return fflush(stdout) == 0 ? 0 : err_set(e, errno, "standard output: %s", err_name(errno));
}

static void top_contexts_head(const struct top_run *r, struct text *t)
{
	int columns = (int)r->screen.columns;
	char line[128];

	snprintf(line, sizeof(line), "contexts: %u; %s; events per second, every %llu ms",
		r->contexts.ncontexts, r->tree.backend,
		(unsigned long long)(r->interval_ns / 1000000));
	text_printf(t, "%.*s\n%.*s\n", columns, line, columns, "q: quit");
}

static void top_functions_head(const struct top_run *r, struct text *t)
{
	const struct functions *f = &r->functions;
	const struct recording *last = f->taken ? &f->recording : NULL;
	int columns = (int)r->screen.columns;
	char line[512];

	snprintf(line, sizeof(line), "%s: %zu samples%s; %s; every %llu ms", f->plan.events[0].name,
		last ? last->nsamples : 0, last && last->nlosses ? ", some lost" : "",
		r->tree.backend, (unsigned long long)(r->interval_ns / 1000000));
	text_printf(t, "%.*s\n", columns, line);
	snprintf(line, sizeof(line), "q: quit  s: next table (by %s)", functions_by(f));
	text_printf(t, "%.*s\n", columns, line);
}

static void top_page_head(const struct top_run *r, struct text *t)
{
	static const char *const what[] = {"", "threads", "threads", "CPUs"};
	int sort = r->table.sort;
	int columns = (int)r->screen.columns;
	char line[512];

	snprintf(line, sizeof(line), "%s: %u; %s; events per second, every %llu ms",
		what[r->top.where.kind], r->top.nplaces, r->tree.backend,
		(unsigned long long)(r->interval_ns / 1000000));
	text_printf(t, "%.*s\n", columns, line);
	snprintf(line, sizeof(line), "q: quit  s: sort (%s)%s",
		sort < 0 ? "id" : r->plans.all[0].events[sort].name,
		r->top.where.kind == PLACE_CPU ? ""
		: r->top.by_process            ? "  b: by (process)"
					       : "  b: by (thread)");
	if (r->top.nrefused)
		snprintf(line, sizeof(line), "%u not counted: %s", r->top.nrefused,
			r->top.refused.text);
	name_clean(line);
	text_printf(t, "%.*s\n", columns, line);
}

/* Adds a row, or the header if @row is -1, cut to the width of the terminal. */
static void top_line(const struct top_run *r, struct text *t, int row)
{
	size_t begin = t->n;

	if (row < 0)
		top_header(r, t);
	else
		top_row(r, t, (unsigned)row);
	table_cut(t, begin, r->screen.columns);
}

static int top_draw(struct top_run *r, struct err *e)
{
	TEXT_CLEANUP struct text t = {0};
	unsigned room;

	screen_size(&r->screen);
	r->table.columns = r->screen.columns;
	room = r->screen.lines > TOP_HEAD_LINES ? r->screen.lines - TOP_HEAD_LINES : 0;
	if (r->by_context)
		top_contexts_head(r, &t);
	else if (r->by_function)
		top_functions_head(r, &t);
	else
		top_page_head(r, &t);
	top_line(r, &t, -1);
	if (!top_rows(r))
		text_printf(&t, "\n  the first table comes after %llu ms",
			(unsigned long long)(r->interval_ns / 1000000));
	for (unsigned i = 0; i < top_rows(r) && i < room; i++) {
		text_printf(&t, "\n");
		top_line(r, &t, (int)i);
	}
	return text_ok(&t) ? screen_show(&r->screen, &t, e) : err_set(e, ENOMEM, "no memory");
}

static int top_show(struct top_run *r, uint64_t now_ns, struct err *e)
{
	if (!r->by_context && !r->by_function)
		table_sort(&r->table, &r->top);
	return r->batch ? top_print(r, now_ns, e) : top_draw(r, e);
}

/* --- The loop */

/* Handles a key. Returns 1 to end. Another choice of rows takes effect with the next table. */
static int top_key(struct top_run *r, char key, struct err *e)
{
	switch (key) {
	case 'q':
	case TOP_CTRL_C:
		return 1;
	case 's':
		if (r->by_function)
			return functions_choose_next(&r->functions, e);
		if (!r->by_context)
			r->table.sort =
				r->table.sort + 1 < (int)r->plans.all[0].n ? r->table.sort + 1 : -1;
		return 0;
	case 'b':
		r->top.by_process = !r->top.by_process;
		return 0;
	default:
		return 0;
	}
}

/* Waits until @until_ns for what happens next. Samples are taken meanwhile. */
static enum screen_event top_wait_event(
	struct top_run *r, uint64_t until_ns, char *key, int *rc, struct err *e)
{
	const struct screen *screen = r->batch ? NULL : &r->screen;
	enum screen_event event;
	uint64_t next;

	if (!r->by_function)
		return screen_wait(screen, &r->signals, until_ns, key);
	do {
		next = nsec_now(CLOCK_MONOTONIC) + FUNCTIONS_POLL_NS;
		next = next < until_ns ? next : until_ns;
		event = screen_wait(screen, &r->signals, next, key);
		if (event == SCREEN_TIME)
			*rc = functions_poll(&r->functions, e);
	} while (event == SCREEN_TIME && *rc == 0 && !r->functions.ended && next < until_ns);
	return event;
}

/* Waits until it is time for the next table. Returns 1 to end. */
static int top_wait(struct top_run *r, uint64_t until_ns, struct err *e)
{
	int rc = 0;

	while (rc == 0) {
		char key = '\0';

		switch (top_wait_event(r, until_ns, &key, &rc, e)) {
		case SCREEN_TIME:
			return rc;
		case SCREEN_END:
			return 1;
		case SCREEN_KEY:
			rc = top_key(r, key, e);
			break;
		case SCREEN_RESIZED:
			break;
		}
		if (rc == 0 && !r->batch)
			rc = top_show(r, 0, e);
	}
	return rc;
}

static int top_loop(struct top_run *r, struct err *e)
{
	uint64_t n = 0, next;
	int rc = r->batch ? 0 : screen_open(&r->screen, e);

	r->begin_ns = next = nsec_now(CLOCK_MONOTONIC);
	if (rc == 0 && !r->batch)
		rc = top_show(r, next, e);
	while (rc == 0) {
		next += r->interval_ns;
		rc = top_wait(r, next, e);
		if (rc)
			break;
		rc = top_read_rows(r, e);
		if (rc == 0 || rc == -ESRCH)
			rc = top_show(r, nsec_now(CLOCK_MONOTONIC), e) < 0 ? -e->no : rc;
		if (rc == 0 && ++n == r->count)
			break;
	}
	screen_close(&r->screen);
	/* Everything that was counted has ended. */
	if (rc == -ESRCH)
		*e = (struct err){0};
	return rc == -ESRCH || rc > 0 ? 0 : rc;
}

static int top_main(int argc, char **argv, struct err *e)
{
	struct top_run r = {
		.top = {.tree = &r.tree, .plan = &r.plans.all[0]},
		.contexts = {.tree = &r.tree, .pmu = &r.pmus.common},
		.tree = {.dir = -1},
		.signals = SIGNALS_NONE,
		.table = {.id = ""},
	};
	int rc = top_parse(&r, argc, argv, e);

	r.batch |= !screen_possible();
	if (rc == 0)
		rc = top_begin(&r, e);
	if (rc == 0)
		rc = top_loop(&r, e);
	functions_end(&r.functions);
	contexts_free(&r.contexts);
	top_close(&r.top);
	signals_close(&r.signals);
	plans_free(&r.plans);
	pmus_free(&r.pmus);
	tree_close(&r.tree);
	if (rc < 0 && r.begin_ns && file_is_gone(-rc)) /* The daemon has ended. */
		return PFM_EXIT_LOST;
	return rc == 0 && r.lost ? PFM_EXIT_LOST : rc;
}

const struct pfm_command cmd_top = {
	.name = "top",
	.summary = "show what CPUs, threads, processes or contexts count, as a live table",
	.usage = "Usage: pfm top [options] [-p PID | -t TID | -G CGROUP | -C LIST | -a]\n"
		 "Show events per second, of CPUs (the default), of threads, or of the contexts\n"
		 "that are loaded, as a table that follows what runs; or by -f functions. Keys:\n"
		 "q quits, s sorts by the next column, b shows threads or processes.\n",
	.options = top_options,
	.run = top_main,
};
