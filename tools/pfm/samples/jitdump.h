/* SPDX-License-Identifier: MIT */
/* The file jit-PID.dump, in which a process that makes code describes it, in the format of perf's
 * jitdump-specification.txt. */
#ifndef TOOLS_PFM_SAMPLES_JITDUMP_H
#define TOOLS_PFM_SAMPLES_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/samples/indexed.h"

enum { JITDUMP_CODES_MAX = 1 << 21, JITDUMP_CODE_MAX = 1 << 30 };

/* A function. */
struct jit_code {
	const char *name;  /* in the file */
	uint64_t offset;   /* of its instructions in the file */
	uint64_t size;     /* bytes, 1 or more */
	uint64_t address;  /* where they were first */
	uint64_t index;    /* the process's number of it */
	const char *lines; /* struct jit_line and names, not checked; NULL: none */
	size_t lines_size;
};

/* A function that came to an address. */
struct jit_place {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t address;
	uint32_t code; /* its number */
};

struct jitdump {
	char *p;
	struct jit_code *codes; /* in the order of their offsets */
	struct jit_place *places;
	uint32_t ncodes, nplaces;
	uint32_t codes_room, places_room;
	struct indexed by_index; /* while it is parsed */
	uint32_t machine;        /* EM_X86_64 of elf.h or another */
	uint64_t cut;            /* time of the first place that was left out; UINT64_MAX: none */
};

/* Parses @n bytes at @p, which come from malloc, and takes them over. The process may be writing
 * them: what is cut off at the end is left out. -EINVAL, -EOPNOTSUPP: it is not such a file, or has
 * times of another clock. */
int jitdump_parse(struct jitdump *d, char *p, size_t n, struct err *e);
void jitdump_free(struct jitdump *d);

/* The function whose instructions are at @offset of the file; NULL: none. */
const struct jit_code *jitdump_find(const struct jitdump *d, uint64_t offset);

/* A source line of a function. */
struct jitdump_line {
	uint64_t offset; /* of its first instruction in the function */
	const char *file;
	const char *from; /* the record in the jitdump */
	uint32_t line;
};

/* The lines of the function that was last looked up. Begins as 0; the caller frees @all. */
struct jitdump_lines {
	const struct jit_code *of;
	struct jitdump_line *all;
	uint32_t n, room;
};

/* The source line @offset bytes after the function's beginning; NULL: it is not known. */
const struct jitdump_line *jitdump_line(
	struct jitdump_lines *lines, const struct jit_code *code, uint64_t offset);

#endif
