// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/jitdump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
	JIT_MAGIC = 0x4A695444, /* "JiTD", in the byte order of this machine */
	JIT_ARCH_TIMESTAMP = 1, /* a flag: times are not CLOCK_MONOTONIC */
};

enum jit_type { JIT_CODE_LOAD, JIT_CODE_MOVE, JIT_CODE_DEBUG_INFO };

struct jit_head {
	uint32_t magic, version, size, machine, reserved, pid;
	uint64_t time, flags;
};

struct jit_rec {
	uint32_t type;
	uint32_t size; /* with this structure */
	uint64_t time;
};

/* The name and the instructions follow. */
struct jit_load {
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct jit_move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

/* The lines follow. */
struct jit_debug_info {
	uint64_t address, n;
};

/* The file's name follows; "\xff": that of the line before. */
struct jit_line {
	uint64_t address;
	uint32_t line, discriminator;
};

/* The lines of the function that is loaded next, if it is at @address. */
struct jit_lines {
	uint64_t address;
	const char *p;
	size_t n;
};

static uint64_t jitdump_key(const void *of, uint32_t entry)
{
	return hash_pair(((const struct jitdump *)of)->codes[entry].index, 0);
}

static int jitdump_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for the functions that a process has made");
}

static int jitdump_add_place(struct jitdump *d, struct jit_place place, struct err *e)
{
	struct jit_place *places =
		indexed_room(d->places, d->nplaces, &d->places_room, sizeof(*places));

	if (!places)
		return jitdump_no_memory(e);
	d->places = places;
	places[d->nplaces++] = place;
	return 0;
}

/* Adds the function of a record of @n bytes at @p. One that is not whole in it is left out. */
static int jitdump_add_code(struct jitdump *d, uint64_t time, const char *p, size_t n,
	struct jit_lines *lines, struct err *e)
{
	struct jit_code *codes, code = {.name = p + sizeof(struct jit_load)};
	const char *end = n > sizeof(struct jit_load)
				  ? memchr(code.name, '\0', n - sizeof(struct jit_load))
				  : NULL;
	struct jit_load load;

	if (!end)
		return 0;
	memcpy(&load, p, sizeof(load));
	if (!load.size || load.size > JITDUMP_CODE_MAX || load.size > (size_t)(p + n - end - 1))
		return 0;
	codes = indexed_room(d->codes, d->ncodes, &d->codes_room, sizeof(*codes));
	if (!codes)
		return jitdump_no_memory(e);
	d->codes = codes;
	code.offset = (uint64_t)(end + 1 - d->p);
	code.size = load.size;
	code.address = load.address;
	code.index = load.index;
	if (lines->p && lines->address == load.address) {
		code.lines = lines->p;
		code.lines_size = lines->n;
	}
	*lines = (struct jit_lines){0};
	codes[d->ncodes++] = code;
	if (indexed_add(&d->by_index, hash_pair(code.index, 0)) < 0)
		return jitdump_no_memory(e);
	return jitdump_add_place(d, (struct jit_place){time, code.address, d->ncodes - 1}, e);
}

/* The last function with that index; INDEXED_NONE: none. */
static uint32_t jitdump_last(const struct jitdump *d, uint64_t index)
{
	uint32_t i = indexed_first(&d->by_index, hash_pair(index, 0));

	while (i != INDEXED_NONE && d->codes[i].index != index)
		i = indexed_next(&d->by_index, i);
	return i;
}

static int jitdump_move_code(
	struct jitdump *d, uint64_t time, const char *p, size_t n, struct err *e)
{
	struct jit_move move;
	uint32_t code;

	if (n < sizeof(move))
		return 0;
	memcpy(&move, p, sizeof(move));
	code = jitdump_last(d, move.index);
	return code == INDEXED_NONE
		       ? 0
		       : jitdump_add_place(d, (struct jit_place){time, move.to, code}, e);
}

static int jitdump_add(struct jitdump *d, const struct jit_rec *rec, const char *p,
	struct jit_lines *lines, struct err *e)
{
	size_t n = rec->size - sizeof(*rec);
	struct jit_debug_info info;

	switch (rec->type) {
	case JIT_CODE_LOAD:
		return jitdump_add_code(d, rec->time, p, n, lines, e);
	case JIT_CODE_MOVE:
		return jitdump_move_code(d, rec->time, p, n, e);
	case JIT_CODE_DEBUG_INFO:
		if (n < sizeof(info))
			return 0;
		memcpy(&info, p, sizeof(info));
		*lines = (struct jit_lines){info.address, p + sizeof(info), n - sizeof(info)};
		return 0;
	default:
		return 0;
	}
}

/* Reads the head, which ends at @size. */
static int jitdump_read_head(struct jitdump *d, size_t n, size_t *size, struct err *e)
{
	struct jit_head head = {.magic = 0};

	if (n >= sizeof(head))
		memcpy(&head, d->p, sizeof(head));
	if (head.magic != JIT_MAGIC || head.version != 1 || head.size < sizeof(head) ||
		head.size > n)
		return err_set(
			e, EINVAL, "not a jitdump of version 1 in this machine's byte order");
	if (head.flags & JIT_ARCH_TIMESTAMP)
		return err_set(e, EOPNOTSUPP,
			"its times are not those of CLOCK_MONOTONIC: let the program write these");
	d->machine = head.machine;
	*size = head.size;
	return 0;
}

int jitdump_parse(struct jitdump *d, char *p, size_t n, struct err *e)
{
	struct jit_lines lines = {0};
	struct jit_rec rec;
	size_t at = 0;
	int rc;

	*d = (struct jitdump){.p = p, .cut = UINT64_MAX};
	rc = jitdump_read_head(d, n, &at, e);
	indexed_init(&d->by_index, jitdump_key, d);
	for (; rc == 0 && n - at >= sizeof(rec); at += rec.size) {
		memcpy(&rec, p + at, sizeof(rec));
		if (d->nplaces == JITDUMP_CODES_MAX) {
			d->cut = rec.time;
			break;
		}
		if (rec.size < sizeof(rec) || rec.size > n - at)
			break;
		rc = jitdump_add(d, &rec, p + at + sizeof(rec), &lines, e);
	}
	indexed_free(&d->by_index);
	if (rc < 0)
		jitdump_free(d);
	return rc;
}

void jitdump_free(struct jitdump *d)
{
	free(d->places);
	free(d->codes);
	free(d->p);
	*d = (struct jitdump){0};
}

const struct jit_code *jitdump_find(const struct jitdump *d, uint64_t offset)
{
	uint32_t low = 0, high = d->ncodes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (d->codes[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low && offset - d->codes[low - 1].offset < d->codes[low - 1].size
		       ? &d->codes[low - 1]
		       : NULL;
}

static int jitdump_compare_lines(const void *a, const void *b)
{
	const struct jitdump_line *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->from < y->from ? -1 : 1;
}

static bool jitdump_add_line(struct jitdump_lines *lines, struct jitdump_line line)
{
	struct jitdump_line *all = indexed_room(lines->all, lines->n, &lines->room, sizeof(*all));

	if (!all)
		return false;
	lines->all = all;
	all[lines->n++] = line;
	return true;
}

/* Reads the lines of a function, and sorts them. Those for which there is no memory are not known.
 */
static void jitdump_read_lines(struct jitdump_lines *lines, const struct jit_code *code)
{
	const char *p = code->lines, *end = p ? p + code->lines_size : NULL, *name = NULL;

	lines->of = code;
	lines->n = 0;
	while (p && (size_t)(end - p) > sizeof(struct jit_line)) {
		const char *text = p + sizeof(struct jit_line);
		const char *after = memchr(text, '\0', (size_t)(end - text));
		struct jit_line l;

		if (!after)
			break;
		memcpy(&l, p, sizeof(l));
		if (strcmp(text, "\xff") != 0)
			name = text;
		if (name &&
			!jitdump_add_line(lines,
				(struct jitdump_line){l.address - code->address, name, p, l.line}))
			break;
		p = after + 1;
	}
	if (lines->n)
		qsort(lines->all, lines->n, sizeof(*lines->all), jitdump_compare_lines);
}

const struct jitdump_line *jitdump_line(
	struct jitdump_lines *lines, const struct jit_code *code, uint64_t offset)
{
	uint32_t low = 0, high;

	if (lines->of != code)
		jitdump_read_lines(lines, code);
	for (high = lines->n; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (lines->all[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &lines->all[low - 1] : NULL;
}
