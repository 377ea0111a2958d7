/* SPDX-License-Identifier: MIT */
/* The names of the code that samples interrupted. Each is looked up once, and kept in the
 * recording. */
#ifndef TOOLS_PFM_SAMPLES_LOCATIONS_H
#define TOOLS_PFM_SAMPLES_LOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "tools/pfm/samples/symbols.h"

struct object;
struct recorded_thread;
struct recording;

/* A function at a byte of a mapped file, or at an address of the kernel. At one byte there may be
 * several, of which each is inlined into the next. */
struct location {
	struct hash_node node;       /* in recording.locations */
	struct object *in;           /* the mapped file; NULL: the kernel, or not known */
	uint64_t offset;             /* in the file, or the address */
	const struct object *object; /* the file, or a module of the kernel; NULL: not known */
	uint64_t address;            /* for people: in the file's own addresses */
	uint64_t ip;                 /* an address at which a sample had it */
	bool kernel;                 /* executed at kernel level */
	const char *function;        /* NULL: not known */
	uint64_t function_offset;    /* from the function's beginning, unless it is inlined */
	struct symbol_line line;     /* in that function */
	const struct location *into; /* the function into which it is inlined; NULL: it is not */
	unsigned depth;              /* number of functions that are inlined into it here */
	char *label;                 /* function and line, where they are shown together */
	unsigned number;             /* counts from 0 */
};

/* Returns 0 or -ENOMEM. */
int locations_init(struct recording *r);
/* Also frees an incomplete locations_init(). */
void locations_free(struct recording *r);

/* The innermost function at @ip in the thread's process, by the current mappings. NULL: no memory.
 */
const struct location *locations_find(
	struct recording *r, const struct recorded_thread *t, uint64_t ip, bool kernel);

/* The name of a state in which a thread does not run, a frame like DATA_WAITING; NULL: @ip is the
 * address of code. */
const char *location_state(uint64_t ip);
/* The displayed name of a location's function, in @room if it has none. */
enum { LOCATION_ROOM = 32 };
const char *location_function(const struct location *p, char room[LOCATION_ROOM]);
/* The same, with the source line if the recording shows lines. */
const char *location_name(const struct location *p, char room[LOCATION_ROOM]);
/* The name of the object without its directories. */
const char *location_object(const struct location *p);

#endif
