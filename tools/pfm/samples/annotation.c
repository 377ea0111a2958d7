// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/annotation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/num.h"
#include "tools/pfm/samples/bounded.h"
#include "tools/pfm/samples/indexed.h"
#include "tools/pfm/samples/regular.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/text/utf8.h"

enum {
	ANNOTATION_AROUND = 3,         /* lines before and after one with overflows */
	ANNOTATION_FILE_MAX = 1 << 26, /* bytes read of a file */
	ANNOTATION_TAB = 8,
	ANNOTATION_NOBODY = 65534, /* a user without files */
};

/* The function itself, or the function into which @at is inlined. NULL: @at is in neither. */
const struct location *annotation_match(const struct annotation *a, const struct location *at)
{
	while (at && !(at->function && strcmp(at->function, a->function) == 0))
		at = at->into;
	return at;
}

/* The path of a source file, from malloc, as it is shown. NULL: no memory. */
static char *annotation_path(const struct symbol_line *at)
{
	char *path = NULL;

	if (asprintf(&path, "%s%s%s", at->dir ? at->dir : "", at->dir ? "/" : "", at->file) < 0)
		return NULL;
	name_clean(path);
	return path;
}

static int annotation_known(const struct annotation *a, const char *path)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->files[i].path, path) == 0)
			return (int)i;
	return -1;
}

int annotation_find(const struct annotation *a, const struct symbol_line *at)
{
	CLEANUP_FREE char *path = annotation_path(at);

	return path ? annotation_known(a, path) : -1;
}

/* The owner of the file @o. */
static uid_t annotation_owner(const struct object *o)
{
	struct stat st;

	if (!o || o->path[0] != '/' || o->pid || object_is_made(o) || stat(o->path, &st) < 0 ||
		st.st_uid == 0)
		return ANNOTATION_NOBODY;
	return st.st_uid;
}

/* The source file of a location, which is added if it is new. NULL: no memory. */
static struct annotated_file *annotation_file(struct annotation *a, const struct location *at)
{
	struct annotated_file *files;
	CLEANUP_FREE char *path = annotation_path(&at->line);
	int known = path ? annotation_known(a, path) : -1;

	if (!path)
		return NULL;
	if (known >= 0) {
		files = &a->files[known];
		if (files->in != at->in && annotation_owner(files->in) != annotation_owner(at->in))
			files->in = NULL;
		return files;
	}
	files = realloc(a->files, (a->n + 1) * sizeof(*files));
	if (!files)
		return NULL;
	a->files = files;
	files[a->n] = (struct annotated_file){.path = take_ptr(&path), .in = at->in};
	return &files[a->n++];
}

static int annotation_add_line(struct annotated_file *f, unsigned line, uint64_t weight)
{
	struct annotated_line *lines;
	size_t at = f->n;

	while (at && f->lines[at - 1].line > line)
		at--;
	f->weight += weight;
	if (at && f->lines[at - 1].line == line) {
		f->lines[at - 1].weight += weight;
		return 0;
	}
	lines = indexed_room(f->lines, f->n, &f->room, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	f->lines = lines;
	memmove(&f->lines[at + 1], &f->lines[at], (f->n++ - at) * sizeof(*f->lines));
	f->lines[at] = (struct annotated_line){line, weight};
	return 0;
}

/* Adds the weight of a sampled location. */
static int annotation_add(struct annotation *a, const struct location *sampled, uint64_t weight)
{
	const struct location *at = annotation_match(a, sampled);
	struct annotated_file *f;

	if (!at)
		return 0;
	a->weight += weight;
	if (!at->line.file) {
		a->unknown += weight;
		return 0;
	}
	f = annotation_file(a, at);
	return f ? annotation_add_line(f, at->line.line, weight) : -ENOMEM;
}

static int annotation_compare_files(const void *a, const void *b)
{
	const struct annotated_file *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->path, y->path);
}

int annotation_fill(struct annotation *a, const struct recording *r, const uint64_t *self)
{
	for (uint32_t i = 0; i < r->nlocations; i++)
		if (self[i] && annotation_add(a, r->by_number[i], self[i]) < 0)
			return -ENOMEM;
	if (a->n)
		qsort(a->files, a->n, sizeof(*a->files), annotation_compare_files);
	return 0;
}

void annotation_free(struct annotation *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->files[i].path);
		free(a->files[i].lines);
	}
	free(a->files);
}

/* --- The source */

/* Reads a line's bytes up to @room, and the rest of it. False: the file has ended. */
static bool annotation_read_line(FILE *f, char *text, size_t room, size_t *bytes)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(f)) != EOF && c != '\n' && ++*bytes < ANNOTATION_FILE_MAX) {
		size_t columns = c == '\t' ? ANNOTATION_TAB - n % ANNOTATION_TAB : 1;

		for (; columns && n + 1 < room; columns--)
			text[n++] = c == '\t' ? ' ' : (char)c;
	}
	text[n] = '\0';
	name_clean(text);
	return (c != EOF || n) && ++*bytes < ANNOTATION_FILE_MAX;
}

/* Whether @line is near one with overflows. @next is the first of these after the lines before. */
static bool annotation_is_near(const struct annotated_file *f, size_t *next, unsigned line)
{
	while (*next < f->n && f->lines[*next].line + ANNOTATION_AROUND < line)
		++*next;
	return *next < f->n && f->lines[*next].line <= line + ANNOTATION_AROUND;
}

static uint64_t annotation_weight(const struct annotated_file *f, size_t next, unsigned line)
{
	for (size_t i = next; i < f->n && f->lines[i].line <= line; i++)
		if (f->lines[i].line == line)
			return f->lines[i].weight;
	return 0;
}

/* Opens a source file with the rights of the user @as, if the caller is root. */
static int annotation_open_as(const char *path, uid_t as)
{
	int fd = bounded_as(as) ? regular_open(path) : -EPERM;

	bounded_as(0);
	return fd;
}

/* Opens a source file of root's, which may be in a folder that only root can read. */
static int annotation_open_own(const char *path)
{
	CLEANUP_CLOSE int fd = regular_open(path);
	struct stat st;

	if (fd < 0)
		return fd;
	return fstat(fd, &st) == 0 && st.st_uid == 0 && st.st_mode & S_IROTH ? take_fd(&fd)
									     : -EACCES;
}

int annotation_open(struct annotated_text *t, const struct annotated_file *f)
{
	CLEANUP_CLOSE int fd = annotation_open_as(f->path, annotation_owner(f->in));

	*t = (struct annotated_text){.f = f};
	if ((fd == -EACCES || fd == -EPERM) && getuid() == 0)
		fd = annotation_open_own(f->path);
	if (fd < 0)
		return fd;
	t->in = fdopen(fd, "r");
	if (!t->in)
		return -ENOMEM;
	(void)take_fd(&fd);
	return 0;
}

bool annotation_is_newer(const struct annotated_text *t, const struct recording *r)
{
	uint64_t start;
	struct stat st;
	struct err e;

	return num_u64(recording_info(r, "start_realtime_ns"), &start, &e) == 0 &&
	       fstat(fileno(t->in), &st) == 0 && nsec_of(st.st_mtim) > start;
}

bool annotation_next(struct annotated_text *t)
{
	const struct annotated_file *f = t->f;

	while (t->next < f->n && annotation_read_line(t->in, t->text, sizeof(t->text), &t->bytes)) {
		t->line++;
		if (!annotation_is_near(f, &t->next, t->line))
			continue;
		t->weight = annotation_weight(f, t->next, t->line);
		t->text[utf8_cut(t->text, sizeof(t->text) - 4)] = '\0';
		return true;
	}
	return false;
}

void annotation_close(struct annotated_text *t)
{
	if (t->in)
		fclose(t->in);
}
