/* SPDX-License-Identifier: MIT */
/*
 * A string that grows as text is appended. Only text_ok() reports a lack of memory: call it at the
 * end.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *p;     /* the string, with a NUL; NULL if nothing was appended */
	size_t n;    /* its length in bytes */
	size_t room; /* bytes allocated */
	bool failed; /* memory ran out, and text is missing */
};

void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_append(struct text *t, const char *p, size_t n);
/* Empties the string, but does not free its memory. */
void text_clear(struct text *t);
void text_free(struct text *t);
bool text_ok(const struct text *t);

#define TEXT_CLEANUP __attribute__((cleanup(text_free)))

#endif
