/* SPDX-License-Identifier: MIT */
/* The names of what samples have interrupted, each found once. They are kept in the recording. */
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
	uint64_t offset;             /* in it, or the address */
	const struct object *object; /* the same, or a module of the kernel; NULL: not known */
	uint64_t address;            /* for people: in the file's own addresses */
	uint64_t ip;                 /* one address at which a sample had it */
	bool kernel;                 /* executed at kernel level */
	const char *function;        /* NULL: not known */
	uint64_t function_offset;    /* from the function's beginning */
	unsigned number;             /* counts from 0 */
};

/* -ENOMEM */
int locations_init(struct recording *r);
/* Also of what locations_init() has left unfinished. */
void locations_free(struct recording *r);

/* That of @ip in a sample's process, by what is mapped now. NULL: no memory. */
const struct location *locations_find(
	struct recording *r, const struct recorded_sample *s, uint64_t ip, bool kernel);

/* What to call a location, in @room if it has no function. */
enum { LOCATION_ROOM = 32 };
const char *location_name(const struct location *p, char room[LOCATION_ROOM]);
/* The object's name without its directories. */
const char *location_object(const struct location *p);

#endif
