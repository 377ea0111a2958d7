/* SPDX-License-Identifier: MIT */
/* A piece of somebody else's bytes: what parsers take and cut. Never NUL-terminated. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>

struct slice {
	const char *p;
	size_t n;
};

/* Format arguments for "%.*s"; what is quoted in a sentence is cut to 40 bytes. */
#define SLICE_ARG(s) (int)((s).n < 40 ? (s).n : 40), (s).p

struct slice slice_of(const char *str);
bool slice_is(struct slice s, const char *str);
bool slice_starts(struct slice s, const char *prefix);

/* Without the blanks at both ends. */
struct slice slice_trim(struct slice s);

/* Cuts up to (and over) the first @sep off the front of @s. An empty @s gives an empty piece. */
struct slice slice_cut(struct slice *s, char sep);

/* Cuts the next blank-separated word off the front of @s; empty when there is none left. */
struct slice slice_word(struct slice *s);

/*
 * What a user wrote into a text file: drops one trailing newline, or the NUL that some clients
 * send with their string. Returns false if a NUL or other control character is left inside
 * (newlines too, unless @lines).
 */
bool slice_text(struct slice *s, bool lines);

#endif
