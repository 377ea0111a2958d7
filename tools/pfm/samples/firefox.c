// SPDX-License-Identifier: MIT
/*
 * The processed profile format of Firefox Profiler (profiler.firefox.com), version 49, which newer
 * versions upgrade on load. Each thread has its own tables, in columns; tables refer to rows of
 * other tables by number. A row of stackTable is a frame and the row of its caller.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/samples/pairs.h"
#include "tools/pfm/samples/reports.h"
#include "tools/pfm/text/json.h"

/* The tables of a thread. A pair's `what` is the location; for resources, it is the object, and for
 * files the name. */
struct firefox {
	const struct recording *r;
	const struct recorded_sample **samples; /* by thread, then by time */
	struct text out;
	struct pairs frames;    /* location, - */
	struct pairs functions; /* function or location, object */
	struct pairs resources; /* object, - */
	struct pairs files;     /* name of a source file, - */
	struct pairs stacks;    /* caller's row + 1 or 0, frame */
	struct firefox_stack {
		size_t thread; /* the last thread that had it, from 1 on */
		int row;       /* in its table */
	} * known;             /* by the recording's numbers */
	size_t thread;         /* the number of this one */
	bool failed;
};

static const char firefox_meta[] =
	"\"processType\":0,\"product\":\"pfm\",\"preprocessedProfileVersion\":49,\"version\":24,"
	"\"stackwalk\":1,\"symbolicated\":true,\"debug\":false,\"usesOnlyOneStackType\":true,"
	"\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,"
	"\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
	"\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}],"
	"\"markerSchema\":[],\"pausedRanges\":[],"
	"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"\xc2\xb5s\"}";

enum { FIREFOX_USER = 1, FIREFOX_KERNEL };

static int firefox_category(const struct location *p)
{
	return p->kernel ? FIREFOX_KERNEL : FIREFOX_USER;
}

/* The number of a pair in a table. A failure is remembered in f->failed. */
static int firefox_number(
	struct firefox *f, struct pairs *table, uint64_t a, uint64_t b, const void *what)
{
	int n = pairs_number(table, a, b, what);

	f->failed = f->failed || n < 0;
	return n < 0 ? 0 : n;
}

static int firefox_function(struct firefox *f, const struct location *p)
{
	if (p->object)
		firefox_number(f, &f->resources, p->object->number, 0, p->object);
	if (p->line.file)
		firefox_number(f, &f->files, (uintptr_t)p->line.file, 0, p->line.file);
	return firefox_number(f, &f->functions, p->function ? (uintptr_t)p->function : p->number,
		p->object ? p->object->number + 1 : 0, p);
}

/* Adds a location, and the functions into which it is inlined. @caller and the result are rows + 1.
 */
static uint64_t firefox_step(struct firefox *f, const struct location *p, uint64_t caller)
{
	int frame;

	if (p->into)
		caller = firefox_step(f, p->into, caller);
	frame = firefox_number(f, &f->frames, p->number, 0, p);
	firefox_function(f, p);
	return (uint64_t)firefox_number(f, &f->stacks, caller, (uint64_t)frame, p) + 1;
}

static int firefox_stack(struct firefox *f, const struct recorded_sample *s)
{
	const struct recorded_stack stack = recording_stack(f->r, s->stack);
	struct firefox_stack *known = &f->known[s->stack];
	uint64_t caller = 0;

	if (known->thread == f->thread)
		return known->row;
	for (uint32_t i = stack.n; i-- > 0;)
		caller = firefox_step(f, f->r->by_number[stack.locations[i]], caller);
	*known = (struct firefox_stack){f->thread, (int)caller - 1};
	return known->row;
}

/* --- Values of a column, in a row of a table */

static void firefox_null(struct firefox *f, const struct pair *row)
{
	(void)row;
	text_printf(&f->out, "null");
}

static void firefox_zero(struct firefox *f, const struct pair *row)
{
	(void)row;
	text_printf(&f->out, "0");
}

static void firefox_false(struct firefox *f, const struct pair *row)
{
	(void)row;
	text_printf(&f->out, "false");
}

/* The viewer's resourceTypes.library */
static void firefox_library(struct firefox *f, const struct pair *row)
{
	(void)row;
	text_printf(&f->out, "1");
}

/* The address in the file. Kernel addresses have no file and exceed JSON's numbers: -1. */
static void firefox_address(struct firefox *f, const struct pair *row)
{
	const struct location *p = row->what;

	if (p->in)
		text_printf(&f->out, "%" PRIu64, p->address);
	else
		text_printf(&f->out, "-1");
}

static void firefox_row_category(struct firefox *f, const struct pair *row)
{
	text_printf(&f->out, "%d", firefox_category(row->what));
}

static void firefox_row_function(struct firefox *f, const struct pair *row)
{
	text_printf(&f->out, "%d", firefox_function(f, row->what));
}

/* How many functions contain it, inlined, at the same address. */
static void firefox_depth(struct firefox *f, const struct pair *row)
{
	const struct location *p = row->what;
	unsigned depth = 0;

	for (p = p->into; p; p = p->into)
		depth++;
	text_printf(&f->out, "%u", depth);
}

static void firefox_line(struct firefox *f, const struct pair *row)
{
	const struct location *p = row->what;

	if (p->line.file)
		text_printf(&f->out, "%u", p->line.line);
	else
		text_printf(&f->out, "null");
}

/* The names of files follow those of functions and resources in stringArray. */
static void firefox_file(struct firefox *f, const struct pair *row)
{
	const struct location *p = row->what;

	if (p->line.file)
		text_printf(&f->out, "%d",
			(int)(f->functions.n + f->resources.n) + firefox_number(f, &f->files,
									 (uintptr_t)p->line.file, 0,
									 p->line.file));
	else
		text_printf(&f->out, "null");
}

static void firefox_index(struct firefox *f, const struct pair *row)
{
	text_printf(&f->out, "%u", row->index);
}

static void firefox_resource(struct firefox *f, const struct pair *row)
{
	const struct object *o = ((const struct location *)row->what)->object;

	text_printf(&f->out, "%d", o ? firefox_number(f, &f->resources, o->number, 0, o) : -1);
}

static void firefox_prefix(struct firefox *f, const struct pair *row)
{
	if (row->a)
		text_printf(&f->out, "%" PRIu64, row->a - 1);
	else
		text_printf(&f->out, "null");
}

static void firefox_frame(struct firefox *f, const struct pair *row)
{
	text_printf(&f->out, "%" PRIu64, row->b);
}

/* The names of resources follow those of functions in stringArray. */
static void firefox_resource_name(struct firefox *f, const struct pair *row)
{
	text_printf(&f->out, "%u", f->functions.n + row->index);
}

static void firefox_row_lib(struct firefox *f, const struct pair *row)
{
	text_printf(&f->out, "%" PRIu64, row->a);
}

/* --- Tables */

/* A table with the columns that the format requires. */
static const struct firefox_table {
	const char *name;
	size_t rows; /* offset in struct firefox */
	struct firefox_column {
		const char *name;
		void (*value)(struct firefox *f, const struct pair *row);
	} columns[9]; /* ends with a column without a name */
} firefox_tables[] = {
	{
		"frameTable",
		offsetof(struct firefox, frames),
		{
			{"address", firefox_address},
			{"inlineDepth", firefox_depth},
			{"category", firefox_row_category},
			{"subcategory", firefox_zero},
			{"func", firefox_row_function},
			{"nativeSymbol", firefox_null},
			{"innerWindowID", firefox_null},
			{"line", firefox_line},
			{"column", firefox_null},
		},
	},
	{
		"funcTable",
		offsetof(struct firefox, functions),
		{
			{"name", firefox_index},
			{"isJS", firefox_false},
			{"relevantForJS", firefox_false},
			{"resource", firefox_resource},
			{"fileName", firefox_file},
			{"lineNumber", firefox_null},
			{"columnNumber", firefox_null},
		},
	},
	{
		"resourceTable",
		offsetof(struct firefox, resources),
		{
			{"lib", firefox_row_lib},
			{"name", firefox_resource_name},
			{"host", firefox_null},
			{"type", firefox_library},
		},
	},
	{
		"stackTable",
		offsetof(struct firefox, stacks),
		{
			{"prefix", firefox_prefix},
			{"frame", firefox_frame},
			{"category", firefox_row_category},
			{"subcategory", firefox_zero},
		},
	},
};

#define FIREFOX_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct pairs *firefox_rows(struct firefox *f, const struct firefox_table *t)
{
	return (struct pairs *)((char *)f + t->rows);
}

static void firefox_column(
	struct firefox *f, const struct firefox_column *c, const struct pairs *rows)
{
	text_printf(&f->out, ",\"%s\":[", c->name);
	for (unsigned i = 0; i < rows->n; i++) {
		text_printf(&f->out, i ? "," : "");
		c->value(f, &rows->list[i]);
	}
	text_printf(&f->out, "]");
}

static void firefox_table(struct firefox *f, const struct firefox_table *t)
{
	const struct pairs *rows = firefox_rows(f, t);

	text_printf(&f->out, "\"%s\":{\"length\":%u", t->name, rows->n);
	for (unsigned i = 0; i < FIREFOX_LENGTH(t->columns) && t->columns[i].name; i++)
		firefox_column(f, &t->columns[i], rows);
	text_printf(&f->out, "},");
}

static void firefox_strings(struct firefox *f)
{
	char room[LOCATION_ROOM];

	text_printf(&f->out, "\"stringArray\":[");
	for (unsigned i = 0; i < f->functions.n; i++) {
		text_printf(&f->out, i ? "," : "");
		json_string(&f->out, location_function(f->functions.list[i].what, room));
	}
	for (unsigned i = 0; i < f->resources.n; i++) {
		text_printf(&f->out, i || f->functions.n ? "," : "");
		json_string(&f->out, ((const struct object *)f->resources.list[i].what)->path);
	}
	for (unsigned i = 0; i < f->files.n; i++) {
		text_printf(&f->out, i || f->functions.n || f->resources.n ? "," : "");
		json_string(&f->out, f->files.list[i].what);
	}
	text_printf(&f->out, "],");
}

/* The time since the first sample of all, in ms. */
static double firefox_time(const struct firefox *f, const struct recorded_sample *s)
{
	return (double)(s->time - f->r->samples[0].time) / 1e6;
}

static void firefox_samples(struct firefox *f, const struct recorded_sample **s, size_t n)
{
	const bool ns = recording_is_ns(f->r);

	text_printf(&f->out, "\"samples\":{\"length\":%zu,\"weightType\":\"%s\",\"stack\":[", n,
		ns ? "tracing-ms" : "samples");
	for (size_t i = 0; i < n; i++)
		text_printf(&f->out, "%s%d", i ? "," : "", firefox_stack(f, s[i]));
	text_printf(&f->out, "],\"time\":[");
	for (size_t i = 0; i < n; i++)
		text_printf(&f->out, "%s%.6f", i ? "," : "", firefox_time(f, s[i]));
	text_printf(&f->out, "],\"weight\":[");
	for (size_t i = 0; i < n; i++)
		text_printf(&f->out, ns ? "%s%.6f" : "%s%.0f", i ? "," : "",
			(double)s[i]->weight / (ns ? 1e6 : 1));
	text_printf(&f->out, "]},");
}

/* The viewer joins what has the same number. One that is used again gets a suffix. */
static void firefox_id(struct firefox *f, const char *key, uint32_t number, unsigned life)
{
	text_printf(&f->out, ",\"%s\":\"%u", key, number);
	if (life)
		text_printf(&f->out, ".%u", life);
	text_printf(&f->out, "\"");
}

static void firefox_thread_names(
	struct firefox *f, const struct recorded_sample *first, const struct recorded_thread *last)
{
	text_printf(&f->out, "\"name\":");
	json_string(&f->out, last->comm ? last->comm : "[unknown]");
	text_printf(&f->out, ",\"processName\":");
	json_string(&f->out, last->process ? last->process : "[unknown]");
	text_printf(&f->out, ",\"isMainThread\":%s", last->pid == last->tid ? "true" : "false");
	firefox_id(f, "pid", last->pid, last->life);
	firefox_id(f, "tid", last->tid, last->thread_life);
	text_printf(&f->out,
		",\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":%.6f,\"unregisterTime\":null,"
		"\"pausedRanges\":[],",
		firefox_time(f, first));
}

static void firefox_thread(struct firefox *f, const struct recorded_sample **s, size_t n)
{
	for (unsigned i = 0; i < FIREFOX_LENGTH(firefox_tables); i++)
		pairs_init(firefox_rows(f, &firefox_tables[i]));
	pairs_init(&f->files);
	f->thread++;
	text_printf(&f->out, "{");
	firefox_thread_names(f, s[0], recording_thread(f->r, s[n - 1]));
	firefox_samples(f, s, n);
	for (unsigned i = 0; i < FIREFOX_LENGTH(firefox_tables); i++)
		firefox_table(f, &firefox_tables[i]);
	firefox_strings(f);
	text_printf(&f->out,
		"\"nativeSymbols\":{\"length\":0,\"address\":[],\"functionSize\":[],\"libIndex\":[]"
		","
		"\"name\":[]},\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],"
		"\"name\":[],\"phase\":[],\"startTime\":[]}}");
	for (unsigned i = 0; i < FIREFOX_LENGTH(firefox_tables); i++)
		pairs_free(firefox_rows(f, &firefox_tables[i]));
	pairs_free(&f->files);
}

/* Orders threads, but not their names. */
static int firefox_compare_threads(const struct recorded_thread *x, const struct recorded_thread *y)
{
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->life != y->life)
		return x->life < y->life ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->thread_life != y->thread_life)
		return x->thread_life < y->thread_life ? -1 : 1;
	return 0;
}

static bool firefox_same_thread(
	const struct firefox *f, const struct recorded_sample *a, const struct recorded_sample *b)
{
	return firefox_compare_threads(recording_thread(f->r, a), recording_thread(f->r, b)) == 0;
}

static void firefox_threads(struct firefox *f)
{
	size_t n = f->r->nsamples;

	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1;
			end < n && firefox_same_thread(f, f->samples[i], f->samples[end]);)
			end++;
		text_printf(&f->out, i ? ",\n" : "");
		firefox_thread(f, f->samples + i, end - i);
	}
}

static void firefox_lib(struct firefox *f, const struct object *o)
{
	const char *slash = strrchr(o->path, '/');

	text_printf(&f->out, "{\"name\":");
	json_string(&f->out, slash ? slash + 1 : o->path);
	text_printf(&f->out, ",\"debugName\":");
	json_string(&f->out, slash ? slash + 1 : o->path);
	text_printf(&f->out, ",\"path\":");
	json_string(&f->out, o->path);
	text_printf(&f->out, ",\"debugPath\":");
	json_string(&f->out, o->path);
	text_printf(&f->out, ",\"breakpadId\":\"\",\"codeId\":");
	if (!o->id_size)
		text_printf(&f->out, "null");
	for (unsigned i = 0; i < o->id_size; i++)
		text_printf(&f->out, "%s%02x%s", i ? "" : "\"", o->id[i],
			i + 1 < o->id_size ? "" : "\"");
	text_printf(&f->out, ",\"arch\":\"\"}");
}

static void firefox_libs(struct firefox *f)
{
	const struct object **all = image_objects(&f->r->image);

	f->failed = f->failed || !all;
	for (unsigned i = 0; all && i < f->r->image.nobjects; i++) {
		text_printf(&f->out, i ? ",\n" : "");
		firefox_lib(f, all[i]);
	}
	free(all);
}

static void firefox_build(struct firefox *f)
{
	const bool each = recording_is_time(f->r) && !recording_is_ns(f->r);
	uint64_t start = 0, period = each ? recording_period(f->r) : 1000000;
	struct err e;

	if (num_u64(recording_info(f->r, "start_realtime_ns"), &start, &e) < 0)
		start = 0;
	text_printf(&f->out, "{\"meta\":{%s,\"interval\":%.6f,\"startTime\":%.3f},\n\"libs\":[",
		firefox_meta, (double)period / 1e6, (double)start / 1e6);
	firefox_libs(f);
	text_printf(
		&f->out, "],\n\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\"threads\":[");
	firefox_threads(f);
	text_printf(&f->out, "]}\n");
}

static int firefox_compare(const void *a, const void *b, void *of)
{
	const struct recorded_sample *x = *(const struct recorded_sample *const *)a;
	const struct recorded_sample *y = *(const struct recorded_sample *const *)b;
	int order = firefox_compare_threads(recording_thread(of, x), recording_thread(of, y));

	return order ? order : x < y ? -1 : x > y;
}

int firefox_write(const struct recording *r, FILE *out, struct err *e)
{
	struct firefox f = {.r = r,
		.samples = calloc(r->nsamples + 1, sizeof(*f.samples)),
		.known = calloc(r->stacks.index.n + 1UL, sizeof(*f.known))};

	f.failed = !f.samples || !f.known;
	if (!f.failed) {
		for (size_t i = 0; i < r->nsamples; i++)
			f.samples[i] = &r->samples[i];
		qsort_r(f.samples, r->nsamples, sizeof(*f.samples), firefox_compare,
			(void *)(uintptr_t)r);
		firefox_build(&f);
	}
	f.failed = f.failed || !text_ok(&f.out);
	if (!f.failed)
		fwrite(f.out.p, 1, f.out.n, out);
	free(f.known);
	free(f.samples);
	text_free(&f.out);
	return f.failed ? err_set(e, ENOMEM, "no memory for the profile") : 0;
}
