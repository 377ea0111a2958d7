/* SPDX-License-Identifier: MIT */
/* Words of a line of a PMU's description: texts, and keys with their values. */
#ifndef BACKEND_PMU_KEY_H
#define BACKEND_PMU_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

/* The kind of value after "key=". */
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
	struct slice text; /* The text after "=". */
};

/* Parses the keys of @line, in any order. EINVAL: a key is unknown, missing or repeated; ERANGE: a
 * value exceeds its max. */
int key_parse_line(struct slice line, struct key *keys, unsigned n, struct err *e);

/* Sets the value for element @i of an array. ERANGE: it exceeds the key's max. */
int key_at(const struct key *k, unsigned i, uint64_t *value, struct err *e);

/* Sets the bits of the numbers in the text of @k, below 64 * @words. */
int list_parse(const struct key *k, uint64_t *bits, unsigned words, struct err *e);

/* Copies @s and terminates it. EINVAL: it is empty or does not fit; the sentence uses @what as its
 * name and shows @form as the form of the line. */
int text_parse(
	struct slice s, const char *what, const char *form, char *to, size_t room, struct err *e);

#endif
