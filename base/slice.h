/* SPDX-License-Identifier: MIT */
/* A range of bytes in another buffer, without a NUL at its end. Parsers take and cut slices. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>

struct slice {
	const char *p;
	size_t n;
};

/* Arguments for "%.*s", cut to 40 bytes for error sentences. */
#define SLICE_ARG(s) (int)((s).n < 40 ? (s).n : 40), (s).p

struct slice slice_of(const char *str);
bool slice_is(struct slice s, const char *str);
bool slice_starts(struct slice s, const char *prefix);

/* Whether @s consists of decimal digits only; true if it is empty. */
bool slice_is_digits(struct slice s);

/* Removes blanks and tabs at both ends. */
struct slice slice_trim(struct slice s);

/* Cuts off and returns the text before the first @sep, or all of @s. Removes @sep. */
struct slice slice_cut(struct slice *s, char sep);

/* Cuts off and returns the first word; empty if there is none. Blanks and tabs separate words. */
struct slice slice_word(struct slice *s);

/*
 * Prepares text that a client wrote: removes a NUL at the end, which some clients send, and then
 * one newline. Returns false if it still has a control character except tab; newlines are allowed
 * if @lines.
 */
bool slice_text(struct slice *s, bool lines);

#endif
