// SPDX-License-Identifier: MIT
/* The source of a function, with the share of each line. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/num.h"
#include "tools/pfm/samples/regular.h"
#include "tools/pfm/samples/reports.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/text/utf8.h"

enum {
	ANNOTATE_AROUND = 3,         /* lines before and after one with overflows */
	ANNOTATE_COLUMNS = 400,      /* bytes shown of a line */
	ANNOTATE_FILE_MAX = 1 << 26, /* bytes read of a file */
	ANNOTATE_TAB = 8
};

struct annotated_line {
	unsigned line;
	uint64_t weight;
};

struct annotated_file {
	char *path;
	uint64_t weight;
	struct annotated_line *lines; /* sorted */
	size_t n, room;
};

struct annotation {
	const char *function;
	struct annotated_file *files;
	size_t n;
	uint64_t weight;  /* of the function, with what is inlined into it */
	uint64_t unknown; /* the part of it that has no line */
	FILE *out;
	double all;     /* overflows of the recording */
	uint64_t *self; /* overflows at each location, by number */
};

/* The function itself, or the function into which @at is inlined. NULL: @at is in neither. */
static const struct location *annotate_match(const struct annotation *a, const struct location *at)
{
	while (at && !(at->function && strcmp(at->function, a->function) == 0))
		at = at->into;
	return at;
}

static struct annotated_file *annotate_file(struct annotation *a, const struct symbol_line *at)
{
	struct annotated_file *files;
	CLEANUP_FREE char *path = NULL;

	if (asprintf(&path, "%s%s%s", at->dir ? at->dir : "", at->dir ? "/" : "", at->file) < 0) {
		path = NULL;
		return NULL;
	}
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->files[i].path, path) == 0)
			return &a->files[i];
	files = realloc(a->files, (a->n + 1) * sizeof(*files));
	if (!files)
		return NULL;
	a->files = files;
	files[a->n] = (struct annotated_file){.path = take_ptr(&path)};
	return &files[a->n++];
}

static int annotate_add_line(struct annotated_file *f, unsigned line, uint64_t weight)
{
	size_t at = f->n;

	while (at && f->lines[at - 1].line > line)
		at--;
	f->weight += weight;
	if (at && f->lines[at - 1].line == line) {
		f->lines[at - 1].weight += weight;
		return 0;
	}
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 32;
		struct annotated_line *lines = realloc(f->lines, room * sizeof(*lines));

		if (!lines)
			return -ENOMEM;
		f->lines = lines;
		f->room = room;
	}
	memmove(&f->lines[at + 1], &f->lines[at], (f->n++ - at) * sizeof(*f->lines));
	f->lines[at] = (struct annotated_line){line, weight};
	return 0;
}

/* Adds the weight of a sampled location. */
static int annotate_add(struct annotation *a, const struct location *sampled, uint64_t weight)
{
	const struct location *at = annotate_match(a, sampled);
	struct annotated_file *f;

	if (!at)
		return 0;
	a->weight += weight;
	if (!at->line.file) {
		a->unknown += weight;
		return 0;
	}
	f = annotate_file(a, &at->line);
	return f ? annotate_add_line(f, at->line.line, weight) : -ENOMEM;
}

/* --- The function with the largest share */

static int annotate_compare_functions(const void *a, const void *b)
{
	const struct location *x = *(const struct location *const *)a;
	const struct location *y = *(const struct location *const *)b;

	return strcmp(x->function, y->function);
}

/* Chooses among the functions whose lines are known. */
static int annotate_choose(struct annotation *a, const struct recording *r, struct err *e)
{
	CLEANUP_FREE const struct location **all = calloc(r->nlocations + 1UL, sizeof(*all));
	uint64_t sum = 0, most = 0;
	size_t n = 0;

	if (!all)
		return err_set(e, ENOMEM, "no memory for the profile");
	for (uint32_t i = 0; i < r->nlocations; i++)
		if (a->self[i] && r->by_number[i]->function && r->by_number[i]->line.file)
			all[n++] = r->by_number[i];
	qsort(all, n, sizeof(*all), annotate_compare_functions);
	for (size_t i = 0; i < n; i++) {
		sum += a->self[all[i]->number];
		if (i + 1 < n && annotate_compare_functions(&all[i], &all[i + 1]) == 0)
			continue;
		if (sum > most) {
			most = sum;
			a->function = all[i]->function;
		}
		sum = 0;
	}
	return most ? 0
		    : err_set(e, ENOENT,
			      "no sampled function has source lines: compile the program with -g, "
			      "or install its debug file, and annotate again");
}

/* --- Output */

static void annotate_write_shares(const struct annotation *a, uint64_t weight)
{
	if (weight)
		fprintf(a->out, "%6.2f%%  %10" PRIu64, 100.0 * (double)weight / a->all, weight);
	else
		fprintf(a->out, "%19s", "");
}

/* Reads a line's bytes up to @room, and the rest of it. False: the file has ended. */
static bool annotate_read_line(FILE *f, char *text, size_t room, size_t *bytes)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(f)) != EOF && c != '\n' && ++*bytes < ANNOTATE_FILE_MAX) {
		size_t columns = c == '\t' ? ANNOTATE_TAB - n % ANNOTATE_TAB : 1;

		for (; columns && n + 1 < room; columns--)
			text[n++] = c == '\t' ? ' ' : (char)c;
	}
	text[n] = '\0';
	name_clean(text);
	return (c != EOF || n) && ++*bytes < ANNOTATE_FILE_MAX;
}

/* Whether @line is near one with overflows. @next is the first of these after the lines before. */
static bool annotate_is_near(const struct annotated_file *f, size_t *next, unsigned line)
{
	while (*next < f->n && f->lines[*next].line + ANNOTATE_AROUND < line)
		++*next;
	return *next < f->n && f->lines[*next].line <= line + ANNOTATE_AROUND;
}

static uint64_t annotate_weight(const struct annotated_file *f, size_t next, unsigned line)
{
	for (size_t i = next; i < f->n && f->lines[i].line <= line; i++)
		if (f->lines[i].line == line)
			return f->lines[i].weight;
	return 0;
}

/* Writes the lines of the source. Returns the number of the last one. */
static unsigned annotate_write_source(
	const struct annotation *a, const struct annotated_file *f, FILE *in)
{
	char text[ANNOTATE_COLUMNS];
	size_t next = 0, bytes = 0;
	unsigned line = 1, shown = 0;

	for (; next < f->n && annotate_read_line(in, text, sizeof(text), &bytes); line++) {
		if (!annotate_is_near(f, &next, line))
			continue;
		if (shown && shown + 1 != line)
			fprintf(a->out, "%26s\n", "...");
		annotate_write_shares(a, annotate_weight(f, next, line));
		fprintf(a->out, "  %6u  %.*s\n", line, (int)utf8_cut(text, sizeof(text) - 4), text);
		shown = line;
	}
	return line - 1;
}

/* A line that does not exist in the source, or all if there is none. */
static void annotate_write_lines(
	const struct annotation *a, const struct annotated_file *f, unsigned after)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->lines[i].line <= after)
			continue;
		annotate_write_shares(a, f->lines[i].weight);
		fprintf(a->out, "  %6u\n", f->lines[i].line);
	}
}

static void annotate_check_age(const struct annotation *a, const struct recording *r, int fd)
{
	uint64_t start;
	struct stat st;
	struct err e;

	if (num_u64(recording_info(r, "start_realtime_ns"), &start, &e) == 0 &&
		fstat(fd, &st) == 0 && nsec_of(st.st_mtim) > start)
		fprintf(a->out,
			"# the source was changed after the recording: lines may be others\n");
}

static void annotate_write_file(
	const struct annotation *a, const struct recording *r, const struct annotated_file *f)
{
	CLEANUP_CLOSE int fd = regular_open(f->path);
	CLEANUP_FCLOSE FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned last = 0;

	fprintf(a->out, "#\n# %s\n", f->path);
	if (in)
		annotate_check_age(a, r, take_fd(&fd));
	else
		fprintf(a->out, "# the source cannot be read: %s\n",
			fd == -EINVAL ? "it is not a regular file"
				      : err_name(fd < 0 ? -fd : ENOMEM));
	fprintf(a->out, "#\n#  share  %10s    line  source\n", report_unit(r));
	if (in)
		last = annotate_write_source(a, f, in);
	annotate_write_lines(a, f, last);
}

static int annotate_compare_files(const void *a, const void *b)
{
	const struct annotated_file *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void annotate_write_all(struct annotation *a, const struct recording *r)
{
	report_write_head(r, a->out);
	fprintf(a->out, "#\n# %.2f%% of all %s are in %s and in what is inlined there\n",
		100.0 * (double)a->weight / a->all, report_unit(r), a->function);
	if (a->unknown)
		fprintf(a->out, "# %.2f%% are at addresses without a line\n",
			100.0 * (double)a->unknown / a->all);
	qsort(a->files, a->n, sizeof(*a->files), annotate_compare_files);
	for (size_t i = 0; i < a->n; i++)
		annotate_write_file(a, r, &a->files[i]);
}

static void annotate_free(struct annotation *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->files[i].path);
		free(a->files[i].lines);
	}
	free(a->files);
	free(a->self);
}

static int annotate_fill(struct annotation *a, const struct recording *r, struct err *e)
{
	for (uint32_t i = 0; i < r->nlocations; i++)
		if (a->self[i] && annotate_add(a, r->by_number[i], a->self[i]) < 0)
			return err_set(e, ENOMEM, "no memory for the profile");
	if (!a->weight)
		return err_set(e, ENOENT,
			"no sample is in a function '%s': pfm report --sort=function shows those "
			"that have samples",
			a->function);
	if (!a->n)
		return err_set(e, ENOENT,
			"%s has no source lines: compile its program with -g, or install its "
			"debug file, and annotate again",
			a->function);
	return 0;
}

int annotate_write(const struct recording *r, const char *function, FILE *out, struct err *e)
{
	struct annotation a = {
		.function = function, .out = out, .all = r->weight ? (double)r->weight : 1};
	int rc;

	a.self = recording_self(r);
	if (!a.self)
		return err_set(e, ENOMEM, "no memory for the profile");
	rc = function ? 0 : annotate_choose(&a, r, e);
	if (rc == 0)
		rc = annotate_fill(&a, r, e);
	if (rc == 0)
		annotate_write_all(&a, r);
	annotate_free(&a);
	return rc;
}
