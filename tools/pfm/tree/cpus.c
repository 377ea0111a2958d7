// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/cpus.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/num.h"

static const char cpus_in_use[] = " in use by ";

static bool cpus_number(struct slice s, int *v)
{
	struct err e;
	uint64_t n;

	if (num_max(s, INT_MAX, &n, &e) < 0)
		return false;
	*v = (int)n;
	return true;
}

/* The value of a word KEY=VALUE. */
static bool cpus_value(struct slice word, const char *key, struct slice *value)
{
	size_t n = strlen(key);

	if (!slice_starts(word, key))
		return false;
	*value = (struct slice){word.p + n, word.n - n};
	return true;
}

static void cpus_parse_context(struct slice words, struct cpus_line *c)
{
	struct slice word, value;

	while ((word = slice_word(&words)).n) {
		if (cpus_value(word, "context=", &value)) {
			c->state = CPUS_CONTEXT;
			c->context = value;
		} else if (cpus_value(word, "yielded=", &value)) {
			c->yielded = value;
		} else if (cpus_value(word, "uid=", &value)) {
			cpus_number(value, &c->uid);
		} else if (cpus_value(word, "pid=", &value)) {
			cpus_number(value, &c->pid);
		}
	}
}

static void cpus_parse_state(struct slice rest, struct cpus_line *c)
{
	struct slice words = rest, first = slice_word(&words);

	if (slice_is(first, "free"))
		c->state = CPUS_FREE;
	else if (slice_is(first, "threads"))
		c->state = CPUS_THREADS;
	else if (slice_starts(first, "pmc"))
		c->state = CPUS_IN_USE;
	else if (slice_is(first, "unreadable"))
		c->state = CPUS_UNREADABLE;
	c->users = rest;
	c->error = slice_word(&words);
	if (slice_starts(first, "context="))
		cpus_parse_context(rest, c);
}

/* The type of the CPU. It follows all sentences about counters, which may contain such words. */
static struct slice cpus_type(struct slice words)
{
	struct slice word, type = {words.p, 0};

	while ((word = slice_word(&words)).n)
		cpus_value(word, "type=", &type);
	return type;
}

bool cpus_parse(struct slice line, struct cpus_line *c)
{
	struct slice first = slice_word(&line), second;

	*c = (struct cpus_line){.uid = -1, .pid = -1};
	if (slice_is(first, "thread")) {
		c->thread = true;
		first = slice_word(&line);
		cpus_parse_context(line, c);
		return cpus_number(first, &c->id);
	}
	second = slice_word(&line);
	c->type = cpus_type(line);
	if (slice_is(second, "offline"))
		c->state = CPUS_OFFLINE;
	else
		cpus_parse_state(slice_trim(line), c);
	return cpus_number(first, &c->id);
}

/* The end of the sentence about a counter: before the next one, the CPU's type, a waiting context,
 * or the registers of a dead daemon. */
static size_t cpus_sentence_end(struct slice s)
{
	for (size_t i = 1; i < s.n; i++) {
		struct slice rest = {s.p + i, s.n - i};

		if (s.p[i - 1] != ' ')
			continue;
		if (slice_starts(rest, "unrestored=") || slice_starts(rest, "type=") ||
			slice_starts(rest, "yielded="))
			return i - 1;
		if (slice_starts(rest, "pmc")) {
			slice_word(&rest);
			if (slice_starts(rest, cpus_in_use) || slice_starts(rest, cpus_in_use + 1))
				return i - 1;
		}
	}
	return s.n;
}

bool cpus_next_user(struct cpus_line *c, unsigned *pmc, struct slice *by)
{
	struct slice rest = slice_trim(c->users), word = slice_word(&rest), value;
	size_t end;
	int n;

	rest = slice_trim(rest);
	if (c->state != CPUS_IN_USE || !cpus_value(word, "pmc", &value) ||
		!cpus_number(value, &n) || !cpus_value(rest, cpus_in_use + 1, &rest))
		return false;
	end = cpus_sentence_end(rest);
	*pmc = (unsigned)n;
	*by = slice_trim((struct slice){rest.p, end});
	c->users = (struct slice){rest.p + end, rest.n - end};
	return true;
}
