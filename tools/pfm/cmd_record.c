// SPDX-License-Identifier: MIT
/* pfm record: samples a command, processes, threads or CPUs into a file. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/num.h"
#include "base/slice.h"
#include "base/text.h"
#include "tools/pfm/command.h"
#include "tools/pfm/events/event_terms.h"
#include "tools/pfm/record_plan.h"
#include "tools/pfm/samples/pieces.h"
#include "tools/pfm/samples/recorder.h"
#include "tools/pfm/samples/unwind.h"
#include "tools/pfm/stat/launch.h"
#include "tools/pfm/stat/places.h"
#include "tools/pfm/stat/signals.h"
#include "tools/pfm/text/digits.h"
#include "tools/pfm/text/duration.h"
#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/tree.h"

enum {
	RECORD_PIECE_MIN = 65536, /* bytes */
	RECORD_PIECE_MIN_NS = 100000000,
	RECORD_USER_STACK = 8192, /* bytes, for chains without frame pointers */
};

static const char record_file[] = "pfm.data";

struct record_options {
	struct record_wanted wanted;
	unsigned last; /* the first event of the last -e */
	const char *file;
	uint64_t delay_ns;
	uint64_t duration_ns; /* 0: without limit */
	struct pieces pieces; /* keep is 0: the recording is one file */
	bool no_symbols;
	char **command; /* NULL: none */
};

/* Options without a letter. */
enum {
	RECORD_CALL_GRAPH = OPTION_LONG + 1,
	RECORD_DURATION,
	RECORD_NO_SYMBOLS,
	RECORD_OFF_CPU,
	RECORD_ROTATE,
	RECORD_WALL,
};

#define RECORD_NO_BRANCHES "it records no branches: call chains are those of -g"

static const struct option_row record_options_rows[] = {
	{'F', "freq", "HZ",
		"samples a second; default: 1000 of cpu-clock and task-clock. Behind -e, -F and "
		"-c are for its events",
		0},
	{'c', "count", "PERIOD", "a sample each PERIOD events; default: 1000000", 0},
	{'e', "event", "EVENT,...",
		"default: task-clock or cpu-clock with perf, otherwise cycles; at user level "
		"without the right to the kernel level",
		0},
	{'o', "output", "FILE", "default: pfm.data; - is standard output", 0},
	{'g', NULL, NULL, "with call chains, by frame pointers", 0},
	{RECORD_CALL_GRAPH, "call-graph", "HOW",
		"fp: the same; dwarf or dwarf,BYTES: with call chains of code without frame "
		"pointers, from BYTES of stack, 8192 by default",
		0},
	{RECORD_OFF_CPU, "off-cpu", NULL,
		"record where threads wait, and for how long, instead of events", 0},
	{RECORD_WALL, "wall", NULL, "record where threads run, too, by task-clock", 0},
	{'D', "delay", "TIME",
		"begin to sample after that time, like 500ms or 2s; a number alone is ms", 0},
	{RECORD_DURATION, "duration", "TIME",
		"sample for that time, like 500ms, 10s or 2m; the command then goes on", 0},
	{RECORD_NO_SYMBOLS, "no-symbols", NULL,
		"store addresses without names: pfm report then finds the names, here", 0},
	{RECORD_ROTATE, "rotate", "LIMIT[,KEEP]",
		"record in pieces FILE.1, FILE.2, ... of that size or time, like 100M or 10s, and "
		"keep the newest 10, or KEEP",
		0},
	PLACE_OPTIONS,

	/* perf record */
	{'B', "no-buildid", NULL, NULL, OPTION_DEFAULT},
	{'d', "data", NULL, "it records no addresses of data", OPTION_FOREIGN},
	{'f', "force", NULL, NULL, OPTION_DEFAULT},
	{'N', "no-buildid-cache", NULL, NULL, OPTION_DEFAULT},
	{'P', "period", NULL, NULL, OPTION_DEFAULT},
	{'s', "stat", NULL, NULL, OPTION_DEFAULT},
	{'T', "timestamp", NULL, NULL, OPTION_DEFAULT},
	{'v', "verbose", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "sample-cpu", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "strict-freq", NULL, NULL, OPTION_DEFAULT},
	{'A', "append", NULL, "a recording is a file of its own: name it by -o", OPTION_FOREIGN},
	{OPTION_LONG, "all-user", NULL, "write :u behind the event, as in -e cycles:u",
		OPTION_FOREIGN},
	{OPTION_LONG, "all-kernel", NULL, "write :k behind the event, as in -e cycles:k",
		OPTION_FOREIGN},
	{'b', "branch-any", NULL, RECORD_NO_BRANCHES, OPTION_FOREIGN},
	{'j', "branch-filter", "FILTER", RECORD_NO_BRANCHES, OPTION_FOREIGN},
	{'i', "no-inherit", NULL, "-t TID records one thread", OPTION_FOREIGN},
	{OPTION_LONG, "filter", "FILTER", "filters are for tracepoints, which perf record has",
		OPTION_FOREIGN},
	{'k', "clockid", "CLOCK", "times are those of CLOCK_MONOTONIC", OPTION_FOREIGN},
	{OPTION_LONG, "max-size", "SIZE",
		"--rotate=SIZE,KEEP bounds the size, and keeps the newest", OPTION_FOREIGN},
	{OPTION_LONG, "mmap-pages", "PAGES", "the daemon chooses the size of its buffers",
		OPTION_FOREIGN},
	{OPTION_LONG, "overwrite", NULL, "is it --rotate=TIME, which keeps the newest pieces?",
		OPTION_FOREIGN},
	{'r', "realtime", "PRIORITY", "the daemon polls as it is set by its owner: perfmonfs(8)",
		OPTION_FOREIGN},
	{'R', "raw-samples", NULL, "raw samples are those of tracepoints, which perf record has",
		OPTION_FOREIGN},
	{OPTION_LONG, "switch-max-files", "N", "is it --rotate=LIMIT,N?", OPTION_FOREIGN},
	{OPTION_LONG, "switch-output", NULL, "is it --rotate?", OPTION_FOREIGN},
	{'u', "uid", "USER", "give processes, as -p $(pgrep -d, -u USER)", OPTION_FOREIGN},
	{OPTION_LONG, "timeout", "MS", "is it --duration?", OPTION_FOREIGN},
	{OPTION_LONG, "user-callchains", NULL, "write :u behind the event, as in -e cycles:u",
		OPTION_FOREIGN},
	{'W', "weight", NULL, "it records no addresses of data", OPTION_FOREIGN},
	{'z', "compression-level", NULL, "-o - writes to a pipe: -o - COMMAND | gzip >FILE",
		OPTION_FOREIGN},
	{0},
};

static int record_number(
	const char *what, const char *text, uint64_t max, uint64_t *v, struct err *e)
{
	int rc = num_within(slice_of(text), 1, max, v, e);

	if (rc == -EINVAL)
		return err_set(e, EINVAL, "%s %.40s: give a number up to %" PRIu64 ", like %s 1000",
			what, text, max, what);
	return rc < 0 ? err_prefix(e, "%s", what) : 0;
}

/* Sets how many bytes of stack a sample has: "dwarf" or "dwarf,BYTES". */
static int record_set_user_stack(struct record_options *o, const char *how, struct err *e)
{
	struct slice bytes = slice_of(how);
	uint64_t n = RECORD_USER_STACK;

	slice_cut(&bytes, ',');
	if (strchr(how, ',') &&
		(num_within(bytes, 8, PFM_STACK_USER_STACK_MAX, &n, e) < 0 || n % 8))
		return err_set(e, EINVAL,
			"--call-graph %.40s: give a multiple of 8 bytes up to %d, like "
			"--call-graph=dwarf,16384",
			how, PFM_STACK_USER_STACK_MAX);
	o->wanted.user_stack = (uint32_t)n;
	return unwind_check(e);
}

static int record_set_call_graph(struct record_options *o, const char *how, struct err *e)
{
	o->wanted.stacks = true;
	o->wanted.user_stack = 0;
	if (strcmp(how, "fp") == 0)
		return 0;
	if (slice_is(slice_cut(&(struct slice){how, strlen(how)}, ','), "dwarf"))
		return record_set_user_stack(o, how, e);
	if (strcmp(how, "lbr") == 0)
		return err_set(e, EOPNOTSUPP,
			"--call-graph lbr: pfm records no branches: give --call-graph=dwarf, or "
			"-g");
	return err_set(e, EINVAL,
		"--call-graph %.40s: give --call-graph=fp, which is -g, or --call-graph=dwarf",
		how);
}

static int record_add_events(struct record_options *o, const char *list, struct err *e)
{
	struct slice rest = slice_of(list);

	o->last = o->wanted.nevents;
	do {
		struct slice name = event_terms_cut(&rest);

		if (o->wanted.nevents == SAMPLING_EVENTS)
			return err_set(e, E2BIG,
				"-e: a recording has up to %d events: record the others in turn",
				SAMPLING_EVENTS);
		if (!name.n || name.n >= EVENT_TEXT)
			return err_set(e, EINVAL,
				"-e %.40s: give the names of events, like -e cycles,cache-misses",
				list);
		snprintf(o->wanted.events[o->wanted.nevents++].name, EVENT_TEXT, "%.*s",
			SLICE_ARG(name));
	} while (rest.n);
	return 0;
}

/* Sets the pace of the events of the last -e or, before the first one, of all. */
static int record_set_pace(struct record_options *o, uint64_t hz, uint64_t period, struct err *e)
{
	const struct record_pace pace = {hz, period};

	if (!o->wanted.nevents && ((o->wanted.pace.hz && period) || (o->wanted.pace.period && hz)))
		return err_set(e, EINVAL, "give -F or -c, not both");
	if (!o->wanted.nevents)
		o->wanted.pace = pace;
	for (unsigned i = o->last; i < o->wanted.nevents; i++) {
		if ((o->wanted.events[i].pace.hz && period) ||
			(o->wanted.events[i].pace.period && hz))
			return err_set(
				e, EINVAL, "%s: give -F or -c, not both", o->wanted.events[i].name);
		o->wanted.events[i].pace = pace;
	}
	return 0;
}

/* perf's --delay has milliseconds without a unit. */
static int record_set_delay(struct record_options *o, const char *text, struct err *e)
{
	return duration_parse(slice_of(text), 1000000, &o->delay_ns)
		       ? 0
		       : err_set(e, EINVAL,
				 "--delay %.40s: give a time of 1 ms or more, like 500ms or 2s",
				 text);
}

static int record_set_duration(struct record_options *o, const char *text, struct err *e)
{
	return duration_parse(slice_of(text), 0, &o->duration_ns)
		       ? 0
		       : err_set(e, EINVAL,
				 "--duration %.40s: give a time with its unit, like 500ms, 10s or "
				 "2m",
				 text);
}

/* Parses a size like 500K, 100M or 2G. */
static bool record_size(struct slice s, uint64_t *bytes)
{
	static const char units[] = "KMG";
	const char *unit = s.n ? strchr(units, s.p[s.n - 1]) : NULL;
	struct err ignored;

	if (!unit || num_within((struct slice){s.p, s.n - 1}, 1, 1 << 20, bytes, &ignored) < 0)
		return false;
	*bytes <<= 10 * (unit - units + 1);
	return *bytes >= RECORD_PIECE_MIN;
}

static int record_set_rotation(struct record_options *o, const char *text, struct err *e)
{
	struct slice keep = slice_of(text), limit = slice_cut(&keep, ',');
	uint64_t n = PIECES_KEEP;

	o->pieces.bytes = o->pieces.ns = 0;
	if (!record_size(limit, &o->pieces.bytes) &&
		(!duration_parse(limit, 0, &o->pieces.ns) || o->pieces.ns < RECORD_PIECE_MIN_NS))
		return err_set(e, EINVAL,
			"--rotate %.40s: give a size from 64K on or a time from 100ms on, like "
			"100M or 10s; a number of pieces may follow, like 100M,20",
			text);
	if (keep.n && num_within(keep, PIECES_KEEP_MIN, PIECES_KEEP_MAX, &n, e) < 0)
		return err_set(e, EINVAL,
			"--rotate %.40s: between %d and %d pieces can be kept, with the one that "
			"is being written",
			text, PIECES_KEEP_MIN, PIECES_KEEP_MAX);
	o->pieces.keep = (unsigned)n;
	return 0;
}

static int record_set_waits(struct record_options *o, bool wall, struct err *e)
{
	if (o->wanted.waits)
		return err_set(e, EINVAL,
			"give --off-cpu or --wall, which has the waits and the rest of the time");
	o->wanted.waits = wall ? record_wall : record_off_cpu;
	o->wanted.stacks = true;
	return 0;
}

/* Waits are recorded one by one, and with nothing else that is counted. */
static int record_check_waits(const struct record_options *o, struct err *e)
{
	const struct record_wanted *w = &o->wanted;

	if (w->waits && w->nevents)
		return err_set(e, EINVAL,
			"--off-cpu and --wall record time: leave -e out, or record the events in "
			"turn");
	if (w->waits == record_off_cpu && (w->pace.hz || w->pace.period))
		return err_set(e, EINVAL, "--off-cpu records every wait: leave -F and -c out");
	return 0;
}

static int record_option(struct record_options *o, int opt, struct err *e)
{
	int rc = place_options_set(&o->wanted.where, opt, optarg, e);
	uint64_t n = 0;

	if (rc)
		return rc < 0 ? rc : 0;
	switch (opt) {
	case 'e':
		return record_add_events(o, optarg, e);
	case 'o':
		o->file = optarg;
		return 0;
	case 'F':
		rc = record_number("-F", optarg, RECORD_HZ_MAX, &n, e);
		return rc < 0 ? rc : record_set_pace(o, n, 0, e);
	case 'c':
		rc = record_number("-c", optarg, INT64_MAX, &n, e);
		return rc < 0 ? rc : record_set_pace(o, 0, n, e);
	case RECORD_CALL_GRAPH:
		return record_set_call_graph(o, optarg, e);
	case 'D':
		return record_set_delay(o, optarg, e);
	case RECORD_DURATION:
		return record_set_duration(o, optarg, e);
	case RECORD_NO_SYMBOLS:
		o->no_symbols = true;
		return 0;
	case RECORD_OFF_CPU:
	case RECORD_WALL:
		return record_set_waits(o, opt == RECORD_WALL, e);
	case RECORD_ROTATE:
		return record_set_rotation(o, optarg, e);
	default:
		o->wanted.stacks = true;
		return 0;
	}
}

static int record_parse(struct record_options *o, int argc, char **argv, struct err *e)
{
	int opt;

	*o = (struct record_options){.file = record_file};
	while ((opt = options_next(&cmd_record, argc, argv, e)) != 0)
		if (opt < 0 || record_option(o, opt, e) < 0)
			return -e->no;
	o->command = optind < argc ? argv + optind : NULL;
	if (o->pieces.keep && strcmp(o->file, "-") == 0)
		return err_set(e, EINVAL, "--rotate makes several files: name them with -o FILE");
	return record_check_waits(o, e) < 0 ? -e->no
					    : place_options_check(&o->wanted.where, o->command, e);
}

/* Adds the command. Newlines in its arguments become blanks. */
static void record_add_command(struct text *info, char *const *command)
{
	size_t begin;

	text_printf(info, "command");
	begin = info->n;
	for (; command && *command; command++)
		text_printf(info, " %s", *command);
	for (size_t i = begin; i < info->n; i++)
		if (info->p[i] == '\n')
			info->p[i] = ' ';
	text_printf(info, "\n");
}

static void record_describe(struct text *info, const struct record_plan *plan,
	const struct record_options *o, const struct tree *t)
{
	if (o->command)
		record_add_command(info, o->command);
	text_printf(info, "pmu %s, backend %s\ntick_ns %" PRIu64 "\n", t->pmu, t->backend,
		plan->tick_ns);
	if (plan->sampling.user_stack)
		text_printf(info, "call_graph dwarf %" PRIu32 "\n", plan->sampling.user_stack);
	else if (plan->sampling.stacks)
		text_printf(info, "call_graph frame pointers\n");
	record_plan_add_machine(info);
}

static int record_create(struct recorder *r, const struct record_plan *plan,
	struct record_options *o, const struct tree *t, struct err *e)
{
	const char *path = o->pieces.keep ? o->pieces.path : o->file, *waits = o->wanted.waits;
	TEXT_CLEANUP struct text info = {0};

	record_describe(&info, plan, o, t);
	if (!text_ok(&info))
		return err_set(e, ENOMEM, "no memory");
	if (o->pieces.keep && pieces_begin(&o->pieces, o->file, e) < 0)
		return -e->no;
	if (recorder_open(r, path, &plan->sampling, info.p, e) < 0)
		return -e->no;
	r->pieces = o->pieces.keep ? &o->pieces : NULL;
	r->no_names = o->no_symbols;
	r->delay_ns = o->delay_ns;
	r->duration_ns = o->duration_ns;
	r->attached = o->wanted.where.kind != PLACE_COMMAND || o->delay_ns;
	for (unsigned i = 0; i < (waits ? 1 : plan->sampling.n); i++)
		if (recorder_add_event(r, i, plan->events[i].code,
			    waits ? waits : plan->events[i].name, e) < 0) {
			recorder_close(r, false, &(struct err){0});
			return -e->no;
		}
	return 0;
}

/* --- Where */

static int record_add(struct recorder *r, const struct tree *t, const struct record_options *o,
	const struct launch *l, struct err *e)
{
	int rc = o->wanted.where.kind != PLACE_COMMAND
			 ? record_plan_add_list(r, t, &o->wanted, e)
			 : record_plan_add_place(r, t, PLACE_COMMAND, l->pid, e);

	/* The daemon does not know the option. */
	return rc == -EOPNOTSUPP && o->wanted.waits
		       ? err_prefix(e, "%s", record_waits_option(&o->wanted))
		       : rc;
}

/* --- Running */

/* Records, then stops. Returns the same values as recorder_run(). */
static int record_go(
	struct recorder *r, struct launch *l, const struct signals *signals, struct err *e)
{
	int end;

	if (l->pid)
		launch_continue(l);
	r->progress = !l->pid; /* The terminal belongs to the command. */
	end = recorder_run(r, signals->fd, l->pidfd, e);
	if (end > 0 && recorder_stop(r, e) < 0)
		return -e->no;
	return end;
}

/* The exit status. After a signal, the command may end in its own way. */
static int record_status(struct launch *l, int end, const struct signals *signals)
{
	int signo = end == RECORDER_SIGNALLED ? signals_take(signals, l) : 0;

	if (!l->pid)
		return 0;
	signals_wait(signals, l);
	return signo ? PFM_EXIT_SIGNAL + signo : launch_exit_status(l);
}

/* Handles a failure of the recording, after which the command goes on. */
static int record_failed(struct launch *l, const struct signals *signals, struct err *e)
{
	int no = e->no;

	if (l->pid) {
		fprintf(stderr, "pfm record: %s; the command goes on\n", e->text);
		*e = (struct err){0};
		signals_wait(signals, l);
	}
	if (!file_is_gone(no))
		return -no;
	return l->pid && launch_exit_status(l) ? launch_exit_status(l) : PFM_EXIT_LOST;
}

/* Tells how many samples there are, and what to type next. */
static void record_tell_samples(
	const struct recorder *r, const struct record_options *o, bool goes_on)
{
	const struct pieces *p = r->pieces;
	const char *file = p ? p->path : o->file, *tree = o->wanted.stacks ? " --tree" : "";
	const bool named = strcmp(file, record_file) != 0;
	char samples[DIGITS_ROOM];

	fprintf(stderr, "pfm record: %s sample%s", digits_grouped(samples, r->track.samples),
		r->track.samples == 1 ? "" : "s");
	if (p && pieces_oldest(p) < p->number)
		fprintf(stderr, ", the newest in %s.%" PRIu64 " to %s", o->file, pieces_oldest(p),
			file);
	else
		fprintf(stderr, " in %s", file);
	fprintf(stderr, ": pfm report%s%s%s%s\n", tree, named ? " " : "", named ? file : "",
		goes_on ? "; the command goes on" : "");
}

/* Tells the user about missing samples and, unless the recording goes to standard output, what was
 * recorded. */
static void record_tell(const struct recorder *r, const struct record_options *o, bool goes_on)
{
	if (r->track.losses)
		fprintf(stderr, "pfm record: samples are missing: pfm report says why\n");
	if (strcmp(o->file, "-") == 0)
		return;
	if (!r->begun_ns)
		fprintf(stderr,
			"pfm record: no samples: all was over before the delay was: give a shorter "
			"--delay\n");
	else if (!r->track.samples)
		fprintf(stderr,
			"pfm record: no samples: less than a period was counted: give a shorter "
			"one, by -F or -c\n");
	else
		record_tell_samples(r, o, goes_on);
}

static int record_in(struct record_options *o, const struct tree *t, struct launch *l,
	const struct signals *signals, struct err *e)
{
	struct record_plan plan = {.tick_ns = 0};
	struct err closing = {0};
	bool started = false;
	struct recorder r;
	int end;

	if (record_plan_make(&plan, &o->wanted, t, e) < 0 || record_create(&r, &plan, o, t, e) < 0)
		return -e->no;
	end = record_add(&r, t, o, l, e);
	if (end == 0)
		end = recorder_start(&r, e);
	started = end == 0;
	if (started)
		end = record_go(&r, l, signals, e);
	if (recorder_close(&r, end > 0, &closing) < 0 && end > 0) {
		*e = closing;
		end = -closing.no;
	}
	if (end > 0)
		record_tell(&r, o, end == RECORDER_ELAPSED && l->pid);
	if (end < 0 && started)
		return record_failed(l, signals, e);
	return end < 0 ? end : record_status(l, end, signals);
}

static int record_launch(struct launch *l, const struct record_options *o,
	const struct signals *signals, struct err *e)
{
	int rc = o->command ? launch_stopped(l, o->command, &signals->mask, e) : 0;

	if (rc < 0 && l->exec_no)
		return l->exec_no == ENOENT ? PFM_EXIT_NOT_FOUND : PFM_EXIT_CANNOT;
	return rc;
}

static int record_run(int argc, char **argv, struct err *e)
{
	struct signals signals = SIGNALS_NONE;
	struct launch l = LAUNCH_NONE;
	struct record_options o;
	struct tree t;
	int rc;

	if (record_parse(&o, argc, argv, e) < 0 || tree_open(&t, o.wanted.where.mount, e) < 0)
		return -e->no;
	tree_tell(&t, "record", "by the kernel's clock");
	rc = places_check_tree(&o.wanted.where, &t, e);
	if (rc == 0)
		rc = signals_open(&signals, e);
	if (rc == 0)
		rc = record_launch(&l, &o, &signals, e);
	ctx_raise_limit(); /* The command keeps its own limit. */
	if (rc == 0)
		rc = record_in(&o, &t, &l, &signals, e);
	launch_end(&l);
	tree_close(&t);
	signals_close(&signals);
	pieces_free(&o.pieces);
	return rc;
}

const struct pfm_command cmd_record = {
	.name = "record",
	.summary = "sample where the time goes, into a file",
	.usage =
		"Usage: pfm record [OPTION]... [--] COMMAND [ARG...]\n"
		"       pfm record [OPTION]... -p PID|-t TID|-G CGROUP|-C LIST|-a [COMMAND...]\n"
		"Sample a command with all that it starts, from its first instruction on; or what\n"
		"runs already, until Ctrl-C or the end of COMMAND. `pfm report` shows the "
		"result.\n",
	.options = record_options_rows,
	.runs_command = true,
	.run = record_run,
};
