/* SPDX-License-Identifier: MIT */
/* Files of the tree, below an open directory of it. Errors have the sentence that the daemon left
 * in the last_error of that directory. */
#ifndef TOOLS_PFM_TREE_FILE_H
#define TOOLS_PFM_TREE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* Appends the whole file, a single snapshot, to @t. */
int file_read(int dir, const char *path, struct text *t, struct err *e);

/* Reads the only line of a file, without its newline. */
int file_read_line(int dir, const char *path, char *line, size_t room, struct err *e);

/* Reads the number in a file. */
int file_read_u64(int dir, const char *path, uint64_t *v, struct err *e);

/* Writes the whole text in one write. */
int file_write(int dir, const char *path, const char *text, struct err *e);
int file_writef(int dir, const char *path, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Replaces @no, the errno of an operation below @dir, by the daemon's sentence about it. If there
 * is none, makes a sentence with @path, the name of the file. Returns -@no. */
int file_sentence(int dir, const char *path, int no, struct err *e);

/* Whether @no, an errno of these functions, means that the context or the whole mount is gone. */
bool file_is_gone(int no);

#endif
