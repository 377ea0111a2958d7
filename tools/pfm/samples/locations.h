/* SPDX-License-Identifier: MIT */
/* The names of the code that samples interrupted. Each is looked up once, and kept in the
 * recording. */
#ifndef TOOLS_PFM_SAMPLES_LOCATIONS_H
#define TOOLS_PFM_SAMPLES_LOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct object;
struct recorded_sample;
struct recording;

/* A byte of a mapped file, or an address of the kernel. */
struct location {
	struct hash_node node;       /* in recording.locations */
	struct object *in;           /* the mapped file; NULL: the kernel, or not known */
	uint64_t offset;             /* in the file, or the address */
	const struct object *object; /* the file, or a module of the kernel; NULL: not known */
	uint64_t address;            /* for people: in the file's own addresses */
	uint64_t ip;                 /* an address at which a sample had it */
	bool kernel;                 /* executed at kernel level */
	const char *function;        /* NULL: not known */
	uint64_t function_offset;    /* from the function's beginning */
	unsigned number;             /* counts from 0 */
};

/* Returns 0 or -ENOMEM. */
int locations_init(struct recording *r);
/* Also frees an incomplete locations_init(). */
void locations_free(struct recording *r);

/* The location of @ip in a sample's process, by the current mappings. NULL: no memory. */
const struct location *locations_find(
	struct recording *r, const struct recorded_sample *s, uint64_t ip, bool kernel);

/* The displayed name of a location, in @room if it has no function. */
enum { LOCATION_ROOM = 32 };
const char *location_name(const struct location *p, char room[LOCATION_ROOM]);
/* The name of the object without its directories. */
const char *location_object(const struct location *p);

#endif
