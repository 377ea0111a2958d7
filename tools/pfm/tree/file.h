/* SPDX-License-Identifier: MIT */
/*
 * Files of the tree, below an open directory of it. Errors have the sentence that the daemon left
 * in the last_error of that directory.
 */
#ifndef TOOLS_PFM_TREE_FILE_H
#define TOOLS_PFM_TREE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* Appends the whole file to @t: one snapshot. */
int file_read(int dir, const char *path, struct text *t, struct err *e);

/* The file's only line, without its newline. */
int file_read_line(int dir, const char *path, char *line, size_t room, struct err *e);

/* The file's number. */
int file_read_u64(int dir, const char *path, uint64_t *v, struct err *e);

/* One write of the whole text. */
int file_write(int dir, const char *path, const char *text, struct err *e);
int file_writef(int dir, const char *path, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Replaces @no, an errno of an operation below @dir, by the daemon's sentence about it, if there is
 * one.
 * @path names the file in the sentence that is made otherwise. Returns -@no.
 */
int file_sentence(int dir, const char *path, int no, struct err *e);

/* Whether @no, an errno of these functions, says that the context or the whole mount is gone. */
bool file_is_gone(int no);

#endif
