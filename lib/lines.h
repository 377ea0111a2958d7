/* SPDX-License-Identifier: MIT */
/* Files of text, line by line, with no memory but the structure. */
#ifndef PERFMONFS_LIB_LINES_H
#define PERFMONFS_LIB_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { LINES_ROOM = 4096 };

struct lines {
	int fd;
	size_t begin, end; /* what has been read and not been given yet */
	char room[LINES_ROOM];
};

/* Of a file that is open; lines_close() closes it. */
void lines_begin(struct lines *l, int fd);
/* lines_open: an absolute path; lines_open_mount: one below the mount. -1: errno. */
int lines_open(struct lines *l, const char *path);
int lines_open_mount(struct lines *l, const char *path);
/* Without its newline, until the next call. NULL: no more. A line longer than the room is cut. */
char *lines_next(struct lines *l);
void lines_close(struct lines *l);

/* The next word of a line, which is cut off from it; NULL: no more. */
char *lines_word(char **line);
/* Writes a number in decimal; its end, where there is a NUL. */
char *lines_number(char *to, unsigned long long n);

#endif
