/* SPDX-License-Identifier: MIT */
/* The jitdumps of recorded processes: their functions become mappings in the sample file. */
#ifndef TOOLS_PFM_SAMPLES_FIND_DUMPS_H
#define TOOLS_PFM_SAMPLES_FIND_DUMPS_H

#include <stdbool.h>

#include "tools/pfm/samples/data.h"
#include "tools/pfm/samples/image.h"
#include "tools/pfm/samples/jitdump.h"

/* An address in a sample. */
struct find_ip {
	uint64_t ip;
	uint64_t time;
};

struct find_ips {
	struct find_ip *all;
	uint32_t n, room;
};

struct find_dump {
	const struct object *object;
	struct jitdump dump;
	struct find_ips ips; /* of its process; of several dumps of a process, the first has them */
	struct err why;      /* why.no: it could not be read */
};

struct find_dumps {
	struct find_dump *all; /* sorted by process */
	uint32_t n, room;
	uint32_t nips;
	size_t bytes; /* read */
	uint64_t cut; /* time of the first sample that was left out; UINT64_MAX: none */
};

/* Reads the jitdumps among the objects of @live. */
int find_dumps_open(struct find_dumps *dumps, const struct image *live, struct err *e);
/* Appends to the records of @f, and writes to @w, a mapping for each function that has samples: of
 * functions that were at one address one after the other, from when they came there. */
int find_dumps_map(
	struct find_dumps *dumps, struct data_file *f, struct data_writer *w, struct err *e);
/* The jitdump that is the object @o of another image; NULL: none. */
const struct jitdump *find_dump(const struct find_dumps *dumps, const struct object *o);
/* Whether the jitdump of process @pid could not be read: then @why has the reason. */
bool find_dump_failure(const struct find_dumps *dumps, uint32_t pid, struct err *why);

#endif
