/* SPDX-License-Identifier: MIT */
/* The source lines of a function, with their overflows. */
#ifndef TOOLS_PFM_SAMPLES_ANNOTATION_H
#define TOOLS_PFM_SAMPLES_ANNOTATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/pfm/samples/recording.h"

struct annotated_line {
	unsigned line;
	uint64_t weight;
};

struct annotated_file {
	char *path;
	const struct object *in; /* has the code; NULL: no file has it, or those of several users */
	uint64_t weight;
	struct annotated_line *lines; /* sorted */
	uint32_t n, room;
};

struct annotation {
	const char *function;
	struct annotated_file *files; /* the heaviest first */
	size_t n;
	uint64_t weight;  /* of the function, with what is inlined into it */
	uint64_t unknown; /* the part of it that has no line */
};

/* Fills @a for a->function. @self: the overflows at each location of @r, by number. Returns 0 or
 * -ENOMEM. */
int annotation_fill(struct annotation *a, const struct recording *r, const uint64_t *self);
void annotation_free(struct annotation *a);

/* The function itself, or the function into which @at is inlined. NULL: @at is in neither. */
const struct location *annotation_match(const struct annotation *a, const struct location *at);
/* The number of the file with that position; -1: no overflow is in it, or no memory. */
int annotation_find(const struct annotation *a, const struct symbol_line *at);

enum { ANNOTATED_COLUMNS = 400 }; /* bytes read of a line */

/* Reads those lines of a file that are near one with overflows. */
struct annotated_text {
	const struct annotated_file *f;
	FILE *in;
	size_t next; /* the first line with overflows that is not far before the current one */
	size_t bytes;
	unsigned line;   /* the current one's number; at the end, that of the last */
	uint64_t weight; /* of the current line */
	char text[ANNOTATED_COLUMNS];
};

/* Opens the file @f, in bounded_run(). The program names its source, perhaps a file that
 * its user may not read: root opens the source with the rights of the program's owner, and root's
 * own files only if their mode permits all users to read them. Returns 0 or -errno; -EINVAL: it is
 * not a regular file. */
int annotation_open(struct annotated_text *t, const struct annotated_file *f);
/* Whether the file was changed after the recording. */
bool annotation_is_newer(const struct annotated_text *t, const struct recording *r);
/* Reads the next line. False: there is none. */
bool annotation_next(struct annotated_text *t);
void annotation_close(struct annotated_text *t);

#endif
