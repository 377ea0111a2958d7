/* SPDX-License-Identifier: MIT */
/* Reads text files line by line, using no memory except this structure (4 KB). */
#ifndef PERFMONFS_LIB_LINES_H
#define PERFMONFS_LIB_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { LINES_ROOM = 4096 };

struct lines {
	int fd;
	size_t begin, end; /* text in @room that has been read and not returned yet */
	char room[LINES_ROOM];
};

/* Begins to read the open file @fd, which lines_close() closes. */
void lines_begin(struct lines *l, int fd);
/* Returns 0, or -1 with errno. */
int lines_open(struct lines *l, const char *path);
/*
 * Returns the next line without its newline, valid until the next call; NULL at the end. A line
 * that does not fit is split.
 */
char *lines_next(struct lines *l);
void lines_close(struct lines *l);

/* Cuts the next word off a line. Returns NULL at the end. */
char *lines_word(char **line);
/* Prints @n in decimal with a NUL, and returns the address of the NUL. Safe in signal handlers. */
char *lines_number(char *to, unsigned long long n);

#endif
