/* SPDX-License-Identifier: MIT */
/* The names that a recording has stored: its objects, strings and places. */
#ifndef TOOLS_PFM_SAMPLES_STORED_H
#define TOOLS_PFM_SAMPLES_STORED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "tools/pfm/samples/data.h"
#include "tools/pfm/samples/image.h"

struct stored_object {
	const struct data_object *from;
	struct object *object; /* in the image */
	const char *why;       /* its functions have no names; NULL: they have */
};

/* The functions at a byte of an object. */
struct stored_place {
	struct hash_node node;
	const struct stored_object *in;
	const struct data_place *first; /* the others follow */
	unsigned n;
};

struct stored {
	const char **strings;
	uint32_t nstrings;
	uint32_t strings_room;
	struct stored_object *objects;
	uint32_t nobjects;
	uint32_t objects_room;
	const struct data_places **lists;
	uint32_t nlists;
	uint32_t lists_room;
	const struct data_code **codes;
	uint32_t ncodes;
	uint32_t codes_room;
	struct stored_place *all;
	struct hash places;
};

/* Adds a record of type DATA_STRINGS, DATA_OBJECT, DATA_PLACES or DATA_CODE. -ENOMEM, or -EINVAL:
 * it refers to what does not precede it. */
int stored_add(struct stored *s, const struct data_rec *rec, struct err *e);
/* Makes the places known, after the last record; @im gets the objects. Returns 0 or -ENOMEM. */
int stored_index(struct stored *s, struct image *im);
void stored_free(struct stored *s);

/* The place at @offset of the file @in or, if @in is NULL, at an address of the kernel. NULL: none.
 */
const struct stored_place *stored_find(
	const struct stored *s, const struct object *in, bool kernel, uint64_t offset);
/* The instructions around @offset of @object. NULL: they are not stored. */
const struct data_code *stored_code(
	const struct stored *s, const struct object *object, uint64_t offset);
/* NULL: string 0. */
const char *stored_string(const struct stored *s, uint32_t number);

#endif
