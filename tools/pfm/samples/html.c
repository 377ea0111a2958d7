// SPDX-License-Identifier: MIT
/*
 * One page for a browser, with all that it needs: the samples as JSON, and the files of page/,
 * which draw them: of each event, the data that its struct html has. Numbers of one kind are
 * packed: as varints of 7 bits, the least significant first, in base64.
 *
 * A node of the call tree is the distance to its parent, and its function. A node's number is its
 * position; the root, 0, is left out. A lane of the time line belongs to a thread. Its samples are
 * added up by the moment, of HTML_TICKS, and by node: for each sum, twice the time since the one
 * before, plus 1 if its weight is not 1; its node or, at the same time, the distance to the one
 * before; and its weight, if that is not 1.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "tools/pfm/samples/annotation.h"
#include "tools/pfm/samples/bounded.h"
#include "tools/pfm/samples/protobuf.h"
#include "tools/pfm/samples/reports.h"
#include "tools/pfm/samples/stacks.h"
#include "tools/pfm/text/json.h"
#include "tools/pfm/text/utf8.h"

/* What bounds the page. Events share the first three. */
enum {
	HTML_NODES = 1 << 14, /* of the call tree, besides functions below the root */
	HTML_SOURCES = 24,    /* functions whose source is shown */
	HTML_LINES = 1000,    /* lines of all these */
	HTML_LANES = 100,     /* threads; the last lane has all others */
	HTML_TICKS = 4096,    /* moments */
	HTML_NAME = 1000,     /* bytes of a name */
};

enum { HTML_KERNEL = 1, HTML_INLINED = 2, HTML_COMMAND = 4 };

struct html_sum {
	uint32_t lane, tick, node;
	uint64_t weight;
};

struct html_lane {
	const struct recorded_thread *thread; /* in its last state; NULL: others */
	uint64_t weight;
	uint32_t first; /* in the order in which threads are seen */
};

struct html {
	const struct recording *r; /* shows the event */
	unsigned events;           /* that share what bounds the page */
	uint64_t start, span;      /* the time that the page shows */
	struct stacks st;
	uint32_t *number; /* of the nodes in the page; INDEXED_NONE: left out */
	uint32_t nkept;   /* nodes that are in the page with all their callers */
	struct pairs cut; /* the others that have samples: the node that calls them, and the name */
	uint64_t shortened; /* weight of these */
	uint32_t *name;     /* numbers of names in the page, from 1 on; 0: not used yet */
	struct html_sum *sums;
	size_t nsums;
	struct html_lane *lanes; /* the heaviest first */
	uint32_t nlanes;
	uint32_t nnames;
	struct text names; /* each: its text, the number of its object or -1, and flags */
	struct pairs objects;
	struct text packed;
	struct text sources;
	struct err no_sources; /* why there are none */
	struct text json;
};

extern const struct embedded html_page[];

static void html_string(struct text *t, const char *s)
{
	char room[HTML_NAME + 4];
	size_t n = strlen(s);

	if (n > HTML_NAME) {
		n = utf8_cut(s, HTML_NAME);
		snprintf(room, sizeof(room), "%.*s...", (int)n, s);
		s = room;
	}
	json_string(t, s);
}

/* Writes h->packed as a string in base64, and empties it. */
static void html_base64(struct html *h)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)h->packed.p;

	text_append(&h->json, "\"", 1);
	for (size_t i = 0; i < h->packed.n; i += 3) {
		unsigned rest = h->packed.n - i < 3 ? (unsigned)(h->packed.n - i) : 3;
		unsigned bits = (unsigned)p[i] << 16 | (rest > 1 ? (unsigned)p[i + 1] << 8 : 0) |
				(rest > 2 ? p[i + 2] : 0);
		char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
			rest > 1 ? digits[bits >> 6 & 63] : '=',
			rest > 2 ? digits[bits & 63] : '='};

		text_append(&h->json, four, sizeof(four));
	}
	text_append(&h->json, "\"", 1);
	text_clear(&h->packed);
}

/* --- The call tree */

/* Numbers the nodes of @at_least overflows. A node with less that has samples is put below its
 * first caller that is kept, with the others of that name there. Returns -E2BIG if that is too
 * many. */
static int html_keep(struct html *h, uint64_t at_least)
{
	const struct stack_node *nodes = h->st.nodes;

	pairs_free(&h->cut);
	pairs_init(&h->cut);
	h->nkept = 0;
	h->shortened = 0;
	for (uint32_t i = 0; i < h->st.n; i++)
		h->number[i] = !i || nodes[i].weight >= at_least ? h->nkept++ : INDEXED_NONE;
	for (uint32_t i = 0; i < h->st.n; i++) {
		uint32_t caller = nodes[i].parent;
		uint64_t self;
		int n;

		if (h->number[i] != INDEXED_NONE || !(self = stack_self(&h->st, &nodes[i])))
			continue;
		while (h->number[caller] >= h->nkept)
			caller = nodes[caller].parent;
		n = pairs_number(&h->cut, h->number[caller], nodes[i].name, NULL);
		if (n < 0)
			return -ENOMEM;
		h->number[i] = h->nkept + (uint32_t)n;
		h->shortened += self;
	}
	if (at_least > h->r->weight || at_least == UINT64_MAX)
		return 0;
	return h->nkept + h->cut.n > HTML_NODES / h->events ? -E2BIG : 0;
}

static int html_keep_enough(struct html *h)
{
	uint64_t at_least = 1;
	int rc;

	h->number = calloc(h->st.n + 1UL, sizeof(*h->number));
	if (!h->number)
		return -ENOMEM;
	while ((rc = html_keep(h, at_least)) == -E2BIG)
		at_least = at_least > UINT64_MAX / 2 ? UINT64_MAX : 2 * at_least;
	return rc;
}

/* Numbers a name of the tree, which is written if it is new. */
static int html_name(struct html *h, uint32_t of)
{
	const struct stack_name *name = &h->st.names[of];
	int object = -1;

	if (h->name[of])
		return (int)h->name[of] - 1;
	if (name->object)
		object = pairs_number(&h->objects, (uintptr_t)name->object, 0, name->object);
	if (name->object && object < 0)
		return -ENOMEM;
	text_printf(&h->names, h->nnames ? "," : "");
	html_string(&h->names, name->name);
	text_printf(&h->names, ",%d,%d", object,
		HTML_KERNEL * name->kernel + HTML_INLINED * name->inlined +
			HTML_COMMAND * name->command);
	h->name[of] = ++h->nnames;
	return (int)h->name[of] - 1;
}

/* Packs the next node, whose number is @number. */
static int html_pack_node(struct html *h, uint32_t number, uint32_t parent, uint32_t name)
{
	int n = html_name(h, name);

	if (n < 0)
		return n;
	protobuf_pack(&h->packed, number - parent);
	protobuf_pack(&h->packed, (uint64_t)n);
	return 0;
}

static int html_write_tree(struct html *h)
{
	const struct stack_node *nodes = h->st.nodes;

	h->name = calloc(h->st.nnames + 1UL, sizeof(*h->name));
	if (!h->name || html_keep_enough(h) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < h->st.n; i++)
		if (h->number[i] < h->nkept &&
			html_pack_node(h, h->number[i], h->number[nodes[i].parent], nodes[i].name) <
				0)
			return -ENOMEM;
	for (uint32_t i = 0; i < h->cut.n; i++)
		if (html_pack_node(h, h->nkept + i, (uint32_t)h->cut.list[i].a,
			    (uint32_t)h->cut.list[i].b) < 0)
			return -ENOMEM;
	text_printf(&h->json, "\"shortened\":%" PRIu64 ",\n\"objects\":[", h->shortened);
	for (uint32_t i = 0; i < h->objects.n; i++) {
		text_printf(&h->json, i ? "," : "");
		html_string(&h->json, h->objects.list[i].what);
	}
	text_printf(&h->json, "],\n\"names\":[");
	text_append(&h->json, h->names.p ? h->names.p : "", h->names.n);
	text_printf(&h->json, "],\n\"nodes\":");
	html_base64(h);
	return 0;
}

/* --- Samples */

/* Finds the time that the page shows: that of sampling, or that from the first sample to the last.
 */
static void html_find_time(struct html *h)
{
	const struct recording *r = h->r;
	uint64_t sampled = recording_sampled_ns(r);
	uint64_t first = r->nsamples ? r->samples[0].time : r->end_ns;
	uint64_t last = r->nsamples ? r->samples[r->nsamples - 1].time : r->end_ns;

	h->start = sampled && r->end_ns - sampled < first ? r->end_ns - sampled : first;
	h->span = (sampled && r->end_ns > last ? r->end_ns : last) - h->start;
}

static int html_compare_lanes(const void *a, const void *b)
{
	const struct html_lane *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Finds the lane of each thread of the recording, of which a thread that changed its name is
 * several. Returns their numbers, by thread; NULL: no memory. */
static uint32_t *html_make_lanes(struct html *h)
{
	const struct recording *r = h->r;
	uint32_t n = r->threads.index.n, *lane = calloc(n + 1UL, sizeof(*lane));
	CLEANUP_FREE uint32_t *place = calloc(n + 1UL, sizeof(*place));
	struct pairs seen;
	int k = 0;

	h->lanes = calloc(n + 1UL, sizeof(*h->lanes));
	pairs_init(&seen);
	for (uint32_t i = 0; h->lanes && lane && place && i < n && k >= 0; i++) {
		const struct recorded_thread *t = interned_get(&r->threads, i).p;

		k = pairs_number(&seen, (uint64_t)t->pid << 32 | t->tid,
			(uint64_t)t->life << 32 | t->thread_life, NULL);
		lane[i] = (uint32_t)k;
		if (k >= 0)
			h->lanes[k] = (struct html_lane){.thread = t, .first = (uint32_t)k};
	}
	h->nlanes = seen.n;
	pairs_free(&seen);
	if (!h->lanes || !lane || !place || k < 0) {
		free(lane);
		return NULL;
	}
	for (size_t i = 0; i < r->nsamples; i++)
		h->lanes[lane[r->samples[i].thread]].weight += r->samples[i].weight;
	qsort(h->lanes, h->nlanes, sizeof(*h->lanes), html_compare_lanes);
	for (uint32_t i = 0; i < h->nlanes; i++)
		place[h->lanes[i].first] = i < HTML_LANES ? i : HTML_LANES - 1;
	for (uint32_t i = 0; i < n; i++)
		lane[i] = place[lane[i]];
	return lane;
}

static int html_compare_sums(const void *a, const void *b)
{
	const struct html_sum *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Adds up the samples by lane, moment and node. */
static int html_add_up(struct html *h)
{
	const struct recorded_sample *s = h->r->samples;
	CLEANUP_FREE uint32_t *lane = html_make_lanes(h);
	size_t all = h->r->nsamples, n = 0;
	double span = (double)h->span + 1, ticks = HTML_TICKS;

	h->sums = calloc(all + 1, sizeof(*h->sums));
	if (!h->sums || !lane)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		double tick = (double)(s[i].time - h->start) / span * ticks;

		h->sums[i] = (struct html_sum){.lane = lane[s[i].thread],
			.tick = tick < ticks ? (uint32_t)tick : HTML_TICKS - 1,
			.node = h->number[stacks_leaf(&h->st, &s[i])],
			.weight = s[i].weight};
	}
	qsort(h->sums, all, sizeof(*h->sums), html_compare_sums);
	for (size_t i = 0; i < all; i++) {
		if (n && html_compare_sums(&h->sums[n - 1], &h->sums[i]) == 0)
			h->sums[n - 1].weight += h->sums[i].weight;
		else
			h->sums[n++] = h->sums[i];
	}
	h->nsums = n;
	return 0;
}

/* Packs the sums of a lane from @s on. Returns the one after them. */
static const struct html_sum *html_pack_lane(struct html *h, const struct html_sum *s)
{
	const struct html_sum *end = h->sums + h->nsums, *first = s;
	uint32_t tick = 0, node = 0;

	for (; s < end && s->lane == first->lane; s++) {
		node = s != first && s->tick == tick ? s->node - node : s->node;
		protobuf_pack(&h->packed, 2 * (s->tick - tick) + (s->weight != 1));
		protobuf_pack(&h->packed, node);
		if (s->weight != 1)
			protobuf_pack(&h->packed, s->weight);
		tick = s->tick;
		node = s->node;
	}
	return s;
}

static void html_write_lane(struct html *h, uint32_t i)
{
	const struct recorded_thread *t = h->lanes[i].thread;

	text_printf(&h->json, i ? ",\n[" : "\n[");
	if (i == HTML_LANES - 1 && h->nlanes > HTML_LANES)
		text_printf(&h->json, "\"%u other threads\",0,0", h->nlanes - i);
	else {
		html_string(&h->json, t->comm ? t->comm : "[unknown]");
		text_printf(&h->json, ",%u,%u", t->pid, t->tid);
	}
	text_printf(&h->json, ",");
	html_base64(h);
	text_printf(&h->json, "]");
}

static int html_write_samples(struct html *h)
{
	const struct html_sum *s;

	if (html_add_up(h) < 0)
		return -ENOMEM;
	s = h->sums;
	text_printf(&h->json, ",\n\"lanes\":[");
	for (uint32_t i = 0; i < h->nlanes && i < HTML_LANES; i++) {
		/* A thread may have samples of other events alone. */
		if (s < h->sums + h->nsums && s->lane == i)
			s = html_pack_lane(h, s);
		html_write_lane(h, i);
	}
	text_printf(&h->json, "]");
	return 0;
}

/* --- Sources */

struct html_function {
	const char *name;
	uint64_t weight;
};

static int html_compare_functions(const void *a, const void *b)
{
	return strcmp(
		((const struct html_function *)a)->name, ((const struct html_function *)b)->name);
}

static int html_compare_weights(const void *a, const void *b)
{
	const struct html_function *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Lists the functions that have lines, the heaviest first. Returns their number. */
static size_t html_list_functions(
	const struct recording *r, const uint64_t *self, struct html_function *all)
{
	size_t n = 0, different = 0;

	for (uint32_t i = 0; i < r->nlocations; i++)
		if (self[i] && r->by_number[i]->function && r->by_number[i]->line.file)
			all[n++] = (struct html_function){r->by_number[i]->function, self[i]};
	if (n)
		qsort(all, n, sizeof(*all), html_compare_functions);
	for (size_t i = 0; i < n; i++) {
		if (different && html_compare_functions(&all[different - 1], &all[i]) == 0)
			all[different - 1].weight += all[i].weight;
		else
			all[different++] = all[i];
	}
	if (different)
		qsort(all, different, sizeof(*all), html_compare_weights);
	return different;
}

/* What the process that reads sources has to do. */
struct html_sources {
	const struct recording *r;
	const uint64_t *self;
	const struct html_function *all;
	size_t n;
	unsigned lines; /* that may be shown */
	int fd;         /* where it writes them */
};

/* Writes the lines of a file of @function that are near one with overflows, if it can be read. */
static void html_write_source(struct text *to, const struct recording *r, const char *function,
	const struct annotated_file *f, unsigned *lines)
{
	struct annotated_text t;
	const char *comma = "";

	if (annotation_open(&t, f) < 0)
		return;
	text_printf(to, to->n ? ",\n[" : "\n[");
	html_string(to, function);
	text_printf(to, ",");
	html_string(to, f->path);
	text_printf(to, ",%d,[", annotation_is_newer(&t, r));
	for (; *lines && annotation_next(&t); --*lines, comma = ",") {
		text_printf(to, "%s%u,%" PRIu64 ",", comma, t.line, t.weight);
		html_string(to, t.text);
	}
	text_printf(to, "]]");
	annotation_close(&t);
}

/* In the process that reads sources. */
static int html_read_sources(void *of, struct err *e)
{
	const struct html_sources *s = of;
	struct text found = {0};
	unsigned lines = s->lines;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->n; i++) {
		struct annotation a = {.function = s->all[i].name};

		rc = annotation_fill(&a, s->r, s->self);
		for (size_t k = 0; k < a.n; k++)
			html_write_source(&found, s->r, a.function, &a.files[k], &lines);
		annotation_free(&a);
	}
	if (!text_ok(&found) || write(s->fd, found.p, found.n) != (ssize_t)found.n)
		rc = -ENOMEM;
	text_free(&found);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the source") : 0;
}

/* Reads sources into h->sources, in a process of its own: a file may be where reads take forever.
 * If that fails, h->no_sources says why. */
static int html_find_sources(struct html *h)
{
	CLEANUP_FREE uint64_t *self = recording_self(h->r);
	CLEANUP_FREE struct html_function *all = calloc(h->r->nlocations + 1UL, sizeof(*all));
	CLEANUP_CLOSE int fd = memfd_create("source", MFD_CLOEXEC);
	struct html_sources s = {h->r, self, all, 0, HTML_LINES / h->events, fd};
	char text[4096];
	ssize_t n;

	if (!self || !all || fd < 0)
		return -ENOMEM;
	s.n = html_list_functions(h->r, self, all);
	if (s.n > 1 + HTML_SOURCES / h->events)
		s.n = 1 + HTML_SOURCES / h->events;
	if (!s.n || bounded_run(html_read_sources, &s, "reading the source", &h->no_sources) < 0)
		return 0;
	for (off_t at = 0; (n = pread(fd, text, sizeof(text), at)) > 0; at += n)
		text_append(&h->sources, text, (size_t)n);
	return 0;
}

/* --- The page */

/* Writes the lines about the recording, without their "# ". */
static int html_write_head(struct html *h)
{
	CLEANUP_FREE char *lines = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&lines, &size);
	struct slice rest;

	if (!f)
		return -ENOMEM;
	report_write_head(h->r, f);
	if (fclose(f) != 0)
		return -ENOMEM;
	text_printf(&h->json, "{\"head\":[");
	for (rest = (struct slice){lines, size}; rest.n;) {
		struct slice line = slice_cut(&rest, '\n');

		lines[line.p + line.n - lines] = '\0';
		text_printf(&h->json, line.p == lines ? "" : ",");
		html_string(&h->json, line.n > 2 ? line.p + 2 : "");
	}
	if (h->no_sources.no) {
		text_printf(&h->json, ",");
		html_string(&h->json, h->no_sources.text);
	}
	text_printf(&h->json, "],\n\"lacks\":%s,\n\"event\":",
		h->r->notes.n || h->no_sources.no ? "true" : "false");
	html_string(&h->json, recording_event(h->r));
	text_printf(&h->json,
		",\n\"unit\":\"%s\",\"period\":%" PRIu64 ",\"time\":%d,\"weight\":%" PRIu64
		",\"samples\":%zu,\"ticks\":%d,\"span\":%" PRIu64 ",\n",
		report_unit(h->r), recording_period(h->r), recording_is_time(h->r), h->r->weight,
		h->r->nsamples, HTML_TICKS, h->span);
	return 0;
}

/* Nothing in a string ends the element in which it is. */
static void html_write_json(const struct text *json, FILE *out)
{
	for (size_t i = 0; i < json->n; i++) {
		if (json->p[i] == '<')
			fputs("\\u003c", out);
		else
			putc_unlocked(json->p[i], out);
	}
}

/* Writes the file of page/ with that name. */
static void html_write_part(const char *name, FILE *out)
{
	for (const struct embedded *p = html_page; p->name; p++)
		if (strcmp(p->name, name) == 0)
			fwrite(p->text.p, 1, p->text.n, out);
}

static void html_write_page(const struct text *json, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n"
	      "<meta name=\"viewport\" "
	      "content=\"width=device-width\"><title>pfm</title>\n<style>\n",
		out);
	html_write_part("style", out);
	fputs("</style></head>\n<body>\n", out);
	html_write_part("body", out);
	fputs("<script id=\"data\" type=\"application/json\">\n", out);
	html_write_json(json, out);
	fputs("</script>\n<script>\n", out);
	html_write_part("script", out);
	fputs("</script>\n</body></html>\n", out);
}

static int html_fill(struct html *h)
{
	html_find_time(h);
	if (html_find_sources(h) < 0 || stacks_build_by_object(&h->st, h->r, STACKS_BY_NAME) < 0 ||
		html_write_head(h) < 0 || html_write_tree(h) < 0 || html_write_samples(h) < 0)
		return -ENOMEM;
	text_printf(&h->json, ",\n\"sources\":[");
	text_append(&h->json, h->sources.p ? h->sources.p : "", h->sources.n);
	text_printf(&h->json, "]}\n");
	return text_ok(&h->json) && text_ok(&h->sources) && text_ok(&h->names) &&
			       text_ok(&h->packed)
		       ? 0
		       : -ENOMEM;
}

/* Appends the data of the event that @r shows. Returns 0 or -ENOMEM. */
static int html_add_event(const struct recording *r, unsigned events, struct text *json)
{
	struct html h = {.r = r, .events = events};
	int rc;

	pairs_init(&h.cut);
	pairs_init(&h.objects);
	rc = html_fill(&h);
	if (rc == 0)
		text_append(json, h.json.p, h.json.n);
	stacks_free(&h.st);
	pairs_free(&h.cut);
	pairs_free(&h.objects);
	text_free(&h.names);
	text_free(&h.packed);
	text_free(&h.sources);
	text_free(&h.json);
	free(h.number);
	free(h.name);
	free(h.sums);
	free(h.lanes);
	return rc;
}

int html_write(const struct recording *r, FILE *out, struct err *e)
{
	struct recording one = *r;
	struct text json = {0};
	unsigned shown = 0;
	int rc = 0;

	text_printf(&json, "{\"events\":[\n");
	for (unsigned i = 0; rc == 0 && i < r->nevents; i++) {
		shown = r->event == &r->events[i] ? i : shown;
		recording_choose(&one, i);
		text_append(&json, ",", i > 0);
		rc = html_add_event(&one, r->nevents, &json);
	}
	text_printf(&json, "],\"shown\":%u}\n", shown);
	if (rc == 0 && text_ok(&json))
		html_write_page(&json, out);
	else
		rc = err_set(e, ENOMEM, "no memory for the page");
	text_free(&json);
	return rc;
}
