// SPDX-License-Identifier: MIT
/* The source of a function, with the share of each line, and the instructions of the lines. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/annotation.h"
#include "tools/pfm/samples/bounded.h"
#include "tools/pfm/samples/code.h"
#include "tools/pfm/samples/indexed.h"
#include "tools/pfm/samples/reports.h"

enum {
	ANNOTATE_AROUND = 8, /* instructions before and after one with overflows */
	ANNOTATE_CODES = 64, /* functions whose instructions are shown at most */
};

/* What is shown. */
struct annotate {
	const struct recording *r;
	struct annotation of;
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

/* Whether the code is in a file that can be opened. */
static bool annotate_in_file(const struct location *at)
{
	return at->in && at->in->path[0] == '/' && !at->in->pid && !object_is_made(at->in);
}

/* --- Instructions */

/* Finds the line of an instruction in the function that is shown. */
static void annotate_place(struct annotate *a, const struct symbol *of, struct code_insn *i)
{
	struct symbol_frame frames[SYMBOL_FRAMES];
	unsigned n = symbols_frames(a->symbols, i->address, frames);

	i->file = CODE_OTHER;
	for (unsigned k = 0; k < n && i->file == CODE_OTHER; k++) {
		const char *name = k + 1 < n ? frames[k].name : of->name;
		CLEANUP_FREE char *shown = name ? code_name(name, a->demangle) : NULL;

		if (!shown || strcmp(shown, a->of.function) != 0)
			continue;
		i->file = frames[k].at.file ? annotation_find(&a->of, &frames[k].at) : CODE_NO_LINE;
		i->line = i->file == CODE_NO_LINE ? 0 : frames[k].at.line;
	}
}

/* Opens the file of a location, which the next one probably has, too. */
static struct symbols *annotate_open(struct annotate *a, const struct location *at)
{
	if (at->in == a->in)
		return a->symbols;
	symbols_close(a->symbols);
	a->in = at->in;
	a->symbols = symbols_open(at->in, -1, &a->code_why);
	return a->symbols;
}

/* Reads the function around a sampled address from the recording. */
static struct code *annotate_read_stored(
	struct annotate *a, struct code *c, const struct location *at, const struct data_code *from)
{
	while (at->into)
		at = at->into;
	if (code_read_stored(c, at->object, from, location_function(at, (char[LOCATION_ROOM]){0}),
		    &a->code_why) < 0) {
		code_free(c);
		return NULL;
	}
	a->ncodes++;
	for (uint32_t i = 0; i < c->n; i++)
		c->all[i].file = CODE_NO_LINE;
	return c;
}

/* Reads the function around a sampled address from its file. */
static struct code *annotate_read_code(
	struct annotate *a, struct code *c, const struct location *at)
{
	struct symbol of;

	if (!annotate_open(a, at))
		return NULL;
	if (!bounded_as(symbols_owner(a->symbols)))
		symbols_without_debug_files(a->symbols);
	if (code_read(c, at->object, a->symbols, at->offset, a->demangle, &a->code_why) < 0) {
		code_free(c);
		c = NULL;
	} else {
		a->ncodes++;
		of = symbols_find(a->symbols, at->offset);
		for (uint32_t i = 0; i < c->n; i++)
			annotate_place(a, &of, &c->all[i]);
	}
	bounded_as(0);
	return c;
}

/* Why neither a file nor the recording has the code. */
static void annotate_note_missing(struct annotate *a, const struct location *at)
{
	err_set(&a->code_why, ENOTSUP,
		"the recording has those of %s, and of functions with 0.1 %% of the samples",
		at->kernel ? "the kernel if root records where there is /proc/kcore"
			   : "code that a process makes if the process writes a jitdump");
}

/* Finds or reads the function around a sampled address. NULL: it cannot be read, and code_why says
 * why. */
static struct code *annotate_code(struct annotate *a, const struct location *at)
{
	const struct data_code *stored = stored_code(&a->r->stored, at->object, at->offset);
	struct code *c;

	for (uint32_t i = 0; i < a->ncodes; i++)
		if (a->codes[i].in == at->object &&
			at->address - a->codes[i].low < a->codes[i].high - a->codes[i].low)
			return &a->codes[i];
	if (!stored && !annotate_in_file(at)) {
		annotate_note_missing(a, at);
		return NULL;
	}
	if (a->ncodes == ANNOTATE_CODES) {
		err_set(&a->code_why, E2BIG, "it is inlined into more than %d functions",
			ANNOTATE_CODES);
		return NULL;
	}
	c = indexed_room(a->codes, a->ncodes, &a->codes_room, sizeof(*c));
	if (!c)
		return NULL;
	a->codes = c;
	c += a->ncodes;
	return stored ? annotate_read_stored(a, c, at, stored) : annotate_read_code(a, c, at);
}

/* Adds the weight of a sampled location to its instruction. */
static void annotate_add_code(struct annotate *a, const struct location *at, uint64_t weight)
{
	struct code *c = annotation_match(&a->of, at) ? annotate_code(a, at) : NULL;
	struct code_insn *i = c ? code_find(c, at->address) : NULL;

	if (i)
		i->weight += weight;
}

/* Marks the instructions near those with overflows. */
static void annotate_mark(struct code *c)
{
	for (uint32_t i = 0, next = 0; i < c->n; i++) {
		while (next < c->n && (!c->all[next].weight || next + ANNOTATE_AROUND < i))
			next++;
		c->all[i].near = next < c->n && next <= i + ANNOTATE_AROUND;
	}
}

static void annotate_disassemble(struct annotate *a, const struct recording *r)
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

/* Whether a function can be shown: its lines are known, or its instructions can be read. */
static bool annotate_can_show(const struct annotate *a, const struct location *at)
{
	const bool code = a->want_code && code_supported() && symbols_supported();

	return at->function &&
	       (at->line.file ||
		       (code && (annotate_in_file(at) ||
					stored_code(&a->r->stored, at->object, at->offset))));
}

/* Chooses among the functions that can be shown. */
static int annotate_choose(struct annotate *a, const struct recording *r, struct err *e)
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
			a->of.function = all[i]->function;
		}
		sum = 0;
	}
	return most ? 0
		    : err_set(e, ENOENT,
			      "no sampled function has source lines: compile the program with -g, "
			      "or install its debug file, and annotate again");
}

/* --- Output */

static void annotate_write_shares(const struct annotate *a, uint64_t weight)
{
	if (weight)
		fprintf(a->out, "%6.2f%%  %10" PRIu64, 100.0 * (double)weight / a->all, weight);
	else
		fprintf(a->out, "%19s", "");
}

static void annotate_write_columns(const struct annotate *a)
{
	fprintf(a->out, "#%27s  %8s %-8s  instruction\n", "share", "address", "offset");
}

/* Writes the instructions of a line of the source; @file is its number. */
static void annotate_write_code(const struct annotate *a, int file, unsigned line)
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

static void annotate_write_source(const struct annotate *a, struct annotated_text *t)
{
	unsigned shown = 0;

	while (annotation_next(t)) {
		if (shown && shown + 1 != t->line)
			fprintf(a->out, "%26s\n", "...");
		annotate_write_shares(a, t->weight);
		fprintf(a->out, "  %6u  %s\n", t->line, t->text);
		annotate_write_code(a, (int)(t->f - a->of.files), t->line);
		shown = t->line;
	}
}

/* A line that does not exist in the source, or all if there is none. */
static void annotate_write_lines(
	const struct annotate *a, const struct annotated_file *f, unsigned after)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->lines[i].line <= after)
			continue;
		annotate_write_shares(a, f->lines[i].weight);
		fprintf(a->out, "  %6u\n", f->lines[i].line);
		annotate_write_code(a, (int)(f - a->of.files), f->lines[i].line);
	}
}

static void annotate_write_file(
	const struct annotate *a, const struct recording *r, const struct annotated_file *f)
{
	struct annotated_text t;
	int rc = annotation_open(&t, f);

	fprintf(a->out, "#\n# %s\n", f->path);
	if (rc < 0)
		fprintf(a->out, "# the source cannot be read: %s\n",
			rc == -EINVAL ? "it is not a regular file" : err_name(-rc));
	else if (annotation_is_newer(&t, r))
		fprintf(a->out,
			"# the source was changed after the recording: lines may be others\n");
	fprintf(a->out, "#\n#  share  %10s    line  source\n", report_unit(r));
	if (a->ncodes)
		annotate_write_columns(a);
	if (rc == 0)
		annotate_write_source(a, &t);
	annotate_write_lines(a, f, t.line);
	annotation_close(&t);
}

/* Whether there are instructions of no line that is shown. */
static bool annotate_has_loose(const struct annotate *a)
{
	for (uint32_t k = 0; k < a->ncodes; k++)
		for (uint32_t i = 0; i < a->codes[k].n; i++)
			if (a->codes[k].all[i].near && a->codes[k].all[i].file == CODE_NO_LINE)
				return true;
	return false;
}

/* Writes the instructions that stand under no line of the source. */
static void annotate_write_loose(const struct annotate *a)
{
	if (!annotate_has_loose(a))
		return;
	fprintf(a->out, "#\n# %s\n#\n",
		a->of.n ? "instructions of none of these lines"
		: a->in ? "no source lines: compile the program with -g, or install its debug file"
			: "instructions");
	annotate_write_columns(a);
	annotate_write_code(a, CODE_NO_LINE, 0);
}

static void annotate_write_all(struct annotate *a, const struct recording *r)
{
	report_write_head(r, a->out);
	fprintf(a->out, "#\n# %.2f%% of all %s are in %s and in what is inlined there\n",
		100.0 * (double)a->of.weight / a->all, report_unit(r), a->of.function);
	if (a->of.unknown && a->of.n)
		fprintf(a->out, "# %.2f%% are at addresses without a line\n",
			100.0 * (double)a->of.unknown / a->all);
	if (a->code_why.no)
		fprintf(a->out, "# %sinstructions are not shown: %s\n", a->ncodes ? "some " : "",
			a->code_why.text);
	for (size_t i = 0; i < a->of.n; i++)
		annotate_write_file(a, r, &a->of.files[i]);
	annotate_write_loose(a);
}

static void annotate_free(struct annotate *a)
{
	for (uint32_t i = 0; i < a->ncodes; i++)
		code_free(&a->codes[i]);
	free(a->codes);
	annotation_free(&a->of);
	free(a->self);
}

static int annotate_fill(struct annotate *a, const struct recording *r, struct err *e)
{
	if (annotation_fill(&a->of, r, a->self) < 0)
		return err_set(e, ENOMEM, "no memory for the profile");
	if (!a->of.weight)
		return err_set(e, ENOENT,
			"no sample is in a function '%s': pfm report --sort=function shows those "
			"that have samples",
			a->of.function);
	if (a->want_code)
		annotate_disassemble(a, r);
	if (!a->of.n && !a->ncodes)
		return err_set(e, ENOENT,
			"%s has no source lines: compile its program with -g, or install its "
			"debug file, and annotate again%s%s",
			a->of.function, a->want_code ? "; its instructions are not shown: " : "",
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
	struct annotate a = {
		.r = r,
		.of.function = job->function,
		.want_code = job->want_code,
		.demangle = r->names & RECORDING_DEMANGLE,
		.all = r->weight ? (double)r->weight : 1,
		.self = recording_self(r),
		.out = fdopen(job->fd, "w"),
	};
	int rc;

	if (!a.self || !a.out)
		return err_set(e, ENOMEM, "no memory for the profile");
	rc = a.of.function ? 0 : annotate_choose(&a, r, e);
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
