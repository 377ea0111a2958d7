/* SPDX-License-Identifier: MIT */
/* Words of a line of a PMU's description: texts, and keys with their values. */
#ifndef BACKEND_PMU_KEY_H
#define BACKEND_PMU_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

/* What is written after "key=". */
enum key_kind {
	KEY_NUMBER,
	KEY_STEPS, /* N, N+STEP, or N<<STEP: element i of an array has N + i*STEP, N << i*STEP. */
	KEY_WORD,  /* One of words[]; the value is its index. */
	KEY_LIST,  /* Numbers and ranges, for the caller to read from text. */
	KEY_FLAG,  /* The key has no value. */
};

struct key {
	const char *name;
	enum key_kind kind;
	uint64_t max;
	bool required;
	const char *const *words; /* NULL ends them. */
	bool seen;
	bool shifts; /* The step was given by "<<". */
	uint64_t value, step;
	struct slice text; /* What was written after "=". */
};

/* Reads the keys of @line, in any order. EINVAL: unknown, missing or twice; ERANGE: over its max.
 */
int key_parse_line(struct slice line, struct key *keys, unsigned n, struct err *e);

/* The value that element @i of an array has. ERANGE: it exceeds the key's max. */
int key_at(const struct key *k, unsigned i, uint64_t *value, struct err *e);

/* Sets the bits of the numbers in the text of @k, below 64 * @words. */
int list_parse(const struct key *k, uint64_t *bits, unsigned words, struct err *e);

/* Copies @s, terminated. EINVAL: it is empty or does not fit; @what names it in the sentence, and
 * @form is what the line looks like. */
int text_parse(
	struct slice s, const char *what, const char *form, char *to, size_t room, struct err *e);

#endif
