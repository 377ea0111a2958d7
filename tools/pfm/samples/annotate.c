// SPDX-License-Identifier: MIT
/* The source of a function, with the share of each line, and the instructions of the lines. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/num.h"
#include "tools/pfm/samples/code.h"
#include "tools/pfm/samples/bounded.h"
#include "tools/pfm/samples/indexed.h"
#include "tools/pfm/samples/regular.h"
#include "tools/pfm/samples/reports.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/text/utf8.h"

enum {
	ANNOTATE_AROUND = 3,         /* lines before and after one with overflows */
	ANNOTATE_AROUND_CODE = 8,    /* the same of instructions */
	ANNOTATE_CODES = 64,         /* functions whose instructions are shown at most */
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
	bool want_code;
	bool demangle;
	struct code *codes; /* functions that contain the sampled addresses */
	uint32_t ncodes, codes_room;
	struct symbols *symbols; /* of the file @in; NULL: it cannot be opened */
	const struct object *in;
	struct err code_why; /* why instructions are missing */
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

/* The path of a source file, from malloc, as it is shown. NULL: no memory. */
static char *annotate_path(const struct symbol_line *at)
{
	char *path = NULL;

	if (asprintf(&path, "%s%s%s", at->dir ? at->dir : "", at->dir ? "/" : "", at->file) < 0)
		return NULL;
	name_clean(path);
	return path;
}

static int annotate_known(const struct annotation *a, const char *path)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->files[i].path, path) == 0)
			return (int)i;
	return CODE_NO_LINE;
}

/* Whether the code is in a file that can be opened. */
static bool annotate_in_file(const struct location *at)
{
	return at->in && at->in->path[0] == '/' && !at->in->pid && !object_is_made(at->in);
}

static struct annotated_file *annotate_file(struct annotation *a, const struct symbol_line *at)
{
	struct annotated_file *files;
	CLEANUP_FREE char *path = annotate_path(at);
	int known = path ? annotate_known(a, path) : CODE_NO_LINE;

	if (!path)
		return NULL;
	if (known >= 0)
		return &a->files[known];
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

/* --- Instructions */

/* Finds the line of an instruction in the function that is shown. */
static void annotate_place(struct annotation *a, const struct symbol *of, struct code_insn *i)
{
	struct symbol_frame frames[SYMBOL_FRAMES];
	unsigned n = symbols_frames(a->symbols, i->address, frames);

	i->file = CODE_OTHER;
	for (unsigned k = 0; k < n && i->file == CODE_OTHER; k++) {
		const char *name = k + 1 < n ? frames[k].name : of->name;
		CLEANUP_FREE char *shown = name ? code_name(name, a->demangle) : NULL;
		CLEANUP_FREE char *path = NULL;

		if (!shown || strcmp(shown, a->function) != 0)
			continue;
		path = frames[k].at.file ? annotate_path(&frames[k].at) : NULL;
		i->file = path ? annotate_known(a, path) : CODE_NO_LINE;
		i->line = i->file == CODE_NO_LINE ? 0 : frames[k].at.line;
	}
}

/* Opens the file of a location, which the next one probably has, too. */
static struct symbols *annotate_open(struct annotation *a, const struct location *at)
{
	if (at->in == a->in)
		return a->symbols;
	symbols_close(a->symbols);
	a->in = at->in;
	a->symbols = symbols_open(at->in, -1, &a->code_why);
	return a->symbols;
}

/* Reads the function around a sampled address. NULL: it cannot be read, and code_why says why. */
static struct code *annotate_read_code(struct annotation *a, const struct location *at)
{
	struct code *c = indexed_room(a->codes, a->ncodes, &a->codes_room, sizeof(*c));
	struct symbol of;

	if (!c)
		return NULL;
	a->codes = c;
	c += a->ncodes;
	if (!annotate_open(a, at))
		return NULL;
	if (code_read(c, at->in, a->symbols, at->offset, a->demangle, &a->code_why) < 0) {
		code_free(c);
		return NULL;
	}
	a->ncodes++;
	of = symbols_find(a->symbols, at->offset);
	for (uint32_t i = 0; i < c->n; i++)
		annotate_place(a, &of, &c->all[i]);
	return c;
}

static struct code *annotate_code(struct annotation *a, const struct location *at)
{
	for (uint32_t i = 0; i < a->ncodes; i++)
		if (a->codes[i].in == at->in &&
			at->address - a->codes[i].low < a->codes[i].high - a->codes[i].low)
			return &a->codes[i];
	if (!annotate_in_file(at))
		err_set(&a->code_why, ENOTSUP,
			"those of the kernel, and of code that a process makes, are in no file");
	else if (a->ncodes == ANNOTATE_CODES)
		err_set(&a->code_why, E2BIG, "it is inlined into more than %d functions",
			ANNOTATE_CODES);
	else
		return annotate_read_code(a, at);
	return NULL;
}

/* Adds the weight of a sampled location to its instruction. */
static void annotate_add_code(struct annotation *a, const struct location *at, uint64_t weight)
{
	struct code *c = annotate_match(a, at) ? annotate_code(a, at) : NULL;
	struct code_insn *i = c ? code_find(c, at->address) : NULL;

	if (i)
		i->weight += weight;
}

/* Marks the instructions near those with overflows. */
static void annotate_mark(struct code *c)
{
	for (uint32_t i = 0, next = 0; i < c->n; i++) {
		while (next < c->n && (!c->all[next].weight || next + ANNOTATE_AROUND_CODE < i))
			next++;
		c->all[i].near = next < c->n && next <= i + ANNOTATE_AROUND_CODE;
	}
}

static void annotate_disassemble(struct annotation *a, const struct recording *r)
{
	for (uint32_t i = 0; i < r->nlocations; i++)
		if (a->self[i])
			annotate_add_code(a, r->by_number[i], a->self[i]);
	symbols_close(a->symbols);
	for (uint32_t i = 0; i < a->ncodes; i++)
		annotate_mark(&a->codes[i]);
}

/* --- The function with the largest share */

static int annotate_compare_functions(const void *a, const void *b)
{
	const struct location *x = *(const struct location *const *)a;
	const struct location *y = *(const struct location *const *)b;

	return strcmp(x->function, y->function);
}

/* Whether a function can be shown: its lines are known, or its instructions are in a file. */
static bool annotate_can_show(const struct annotation *a, const struct location *at)
{
	const bool code = a->want_code && code_supported() && symbols_supported();

	return at->function && (at->line.file || (code && annotate_in_file(at)));
}

/* Chooses among the functions that can be shown. */
static int annotate_choose(struct annotation *a, const struct recording *r, struct err *e)
{
	CLEANUP_FREE const struct location **all = calloc(r->nlocations + 1UL, sizeof(*all));
	uint64_t sum = 0, most = 0;
	size_t n = 0;

	if (!all)
		return err_set(e, ENOMEM, "no memory for the profile");
	for (uint32_t i = 0; i < r->nlocations; i++)
		if (a->self[i] && annotate_can_show(a, r->by_number[i]))
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

static void annotate_write_columns(const struct annotation *a)
{
	fprintf(a->out, "#%27s  %8s %-8s  instruction\n", "share", "address", "offset");
}

/* Writes the instructions of a line of the source; @file is its number. */
static void annotate_write_code(const struct annotation *a, int file, unsigned line)
{
	for (uint32_t k = 0; k < a->ncodes; k++) {
		const struct code *c = &a->codes[k];
		const struct code_insn *shown = NULL;

		for (const struct code_insn *i = c->all; i < c->all + c->n; i++) {
			if (i->file != file || i->line != line || !i->near)
				continue;
			if (shown && i != shown + 1)
				fprintf(a->out, "%32s\n", "...");
			if (i->weight)
				fprintf(a->out, "%27.2f%%", 100.0 * (double)i->weight / a->all);
			else
				fprintf(a->out, "%28s", "");
			fprintf(a->out, "  %8" PRIx64 " +%#-7" PRIx64 "  %s\n", i->address,
				i->address - c->low, i->text);
			shown = i;
		}
	}
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
		annotate_write_code(a, (int)(f - a->files), line);
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
		annotate_write_code(a, (int)(f - a->files), f->lines[i].line);
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
	if (a->ncodes)
		annotate_write_columns(a);
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

/* Whether there are instructions of no line that is shown. */
static bool annotate_has_loose(const struct annotation *a)
{
	for (uint32_t k = 0; k < a->ncodes; k++)
		for (uint32_t i = 0; i < a->codes[k].n; i++)
			if (a->codes[k].all[i].near && a->codes[k].all[i].file == CODE_NO_LINE)
				return true;
	return false;
}

/* Writes the instructions that stand under no line of the source. */
static void annotate_write_loose(const struct annotation *a)
{
	if (!annotate_has_loose(a))
		return;
	fprintf(a->out, "#\n# %s\n#\n",
		a->n ? "instructions of none of these lines"
		     : "no source lines: compile the program with -g, or install its debug file");
	annotate_write_columns(a);
	annotate_write_code(a, CODE_NO_LINE, 0);
}

static void annotate_write_all(struct annotation *a, const struct recording *r)
{
	report_write_head(r, a->out);
	fprintf(a->out, "#\n# %.2f%% of all %s are in %s and in what is inlined there\n",
		100.0 * (double)a->weight / a->all, report_unit(r), a->function);
	if (a->unknown && a->n)
		fprintf(a->out, "# %.2f%% are at addresses without a line\n",
			100.0 * (double)a->unknown / a->all);
	if (a->code_why.no)
		fprintf(a->out, "# instructions are not shown: %s\n", a->code_why.text);
	for (size_t i = 0; i < a->n; i++)
		annotate_write_file(a, r, &a->files[i]);
	annotate_write_loose(a);
}

static void annotate_free(struct annotation *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->files[i].path);
		free(a->files[i].lines);
	}
	for (uint32_t i = 0; i < a->ncodes; i++)
		code_free(&a->codes[i]);
	free(a->codes);
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
	if (a->n)
		qsort(a->files, a->n, sizeof(*a->files), annotate_compare_files);
	if (a->want_code)
		annotate_disassemble(a, r);
	if (!a->n && !a->ncodes)
		return err_set(e, ENOENT,
			"%s has no source lines: compile its program with -g, or install its "
			"debug file, and annotate again%s%s",
			a->function, a->want_code ? "; its instructions are not shown: " : "",
			a->code_why.text);
	return 0;
}

/* What the other process does, and the file to which it writes. */
struct annotate_job {
	const struct recording *r;
	const char *function;
	bool want_code;
	int fd;
};

static int annotate_here(void *of, struct err *e)
{
	const struct annotate_job *job = of;
	const struct recording *r = job->r;
	struct annotation a = {
		.function = job->function,
		.want_code = job->want_code,
		.demangle = r->names & RECORDING_DEMANGLE,
		.all = r->weight ? (double)r->weight : 1,
		.self = recording_self(r),
		.out = fdopen(job->fd, "w"),
	};
	int rc;

	if (!a.self || !a.out)
		return err_set(e, ENOMEM, "no memory for the profile");
	rc = a.function ? 0 : annotate_choose(&a, r, e);
	if (rc == 0)
		rc = annotate_fill(&a, r, e);
	if (rc == 0)
		annotate_write_all(&a, r);
	annotate_free(&a);
	return fclose(a.out) < 0 ? err_set(e, errno, "no room for the text: %s", err_name(errno))
				 : rc;
}

int annotate_write(const struct recording *r, const char *function, bool instructions, FILE *out,
	struct err *e)
{
	CLEANUP_CLOSE int fd = memfd_create("source", MFD_CLOEXEC);
	struct annotate_job job = {r, function, instructions, fd};
	char text[4096];
	ssize_t n;

	if (fd < 0)
		return err_set(e, errno, "no memory for the source: %s", err_name(errno));
	if (bounded_run(annotate_here, &job, "reading the source and the program", e) < 0)
		return -e->no;
	for (off_t at = 0; (n = pread(fd, text, sizeof(text), at)) > 0; at += n)
		fwrite(text, 1, (size_t)n, out);
	return 0;
}
