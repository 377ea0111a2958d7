/* SPDX-License-Identifier: MIT */
/*
 * Text that grows while it is printed into. Running out of memory is remembered, not reported
 * at each call: ask text_ok() once at the end.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *p;
	size_t n, room;
	bool failed;
};

void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_clear(struct text *t); /* keeps the memory */
void text_free(struct text *t);
bool text_ok(const struct text *t);

#define TEXT_CLEANUP __attribute__((cleanup(text_free)))

#endif
