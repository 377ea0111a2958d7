/* SPDX-License-Identifier: MIT */
/*
 * What the fuzzers share. Each is one parser's LLVMFuzzerTestOneInput with the properties that
 * hold whatever the input; libFuzzer drives it, or main.c in smoke runs.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that NDEBUG leaves alone. */
#define CHECK(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))

_Noreturn static inline void check_failed(const char *cond, const char *file, int line)
{
	dprintf(STDERR_FILENO, "%s:%d: %s does not hold\n", file, line, cond);
	abort();
}

/* A refusal is an errno that has a name, and a sentence that is one line. */
static inline void check_refusal(int rc, const struct err *e)
{
	CHECK(rc < 0 && rc == -e->no);
	CHECK(memchr(e->text, '\0', sizeof(e->text)));
	CHECK(e->text[0] && !strchr(e->text, '\n'));
	CHECK(strcmp(err_name(e->no), "unknown error") != 0);
}

static inline void check_syntax_or_range(int rc, const struct err *e)
{
	check_refusal(rc, e);
	CHECK(e->no == EINVAL || e->no == ERANGE);
}

static inline struct slice slice_of_input(const uint8_t *data, size_t size)
{
	return (struct slice){(const char *)data, size};
}

static inline struct slice slice_of_text(const struct text *t)
{
	CHECK(text_ok(t));
	return (struct slice){t->p, t->n};
}

static inline bool text_equal(const struct text *a, const struct text *b)
{
	return a->n == b->n && (!a->n || memcmp(a->p, b->p, a->n) == 0);
}

#endif
