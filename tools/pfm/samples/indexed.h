/* SPDX-License-Identifier: MIT */
/* A hash index of an array's entries. The array is the caller's, and its entries are only added. */
#ifndef TOOLS_PFM_SAMPLES_INDEXED_H
#define TOOLS_PFM_SAMPLES_INDEXED_H

#include <stddef.h>
#include <stdint.h>

#define INDEXED_NONE UINT32_MAX

struct indexed {
	uint32_t *bucket;  /* the first entry; INDEXED_NONE: none */
	uint32_t *next;    /* of an entry: the next one in its bucket */
	uint32_t nbuckets; /* a power of two, or 0 */
	uint32_t n;        /* entries */
	uint32_t room;     /* entries for which there is memory */
	const void *of;    /* passed to @key */
	uint64_t (*key)(const void *of, uint32_t entry);
};

/* Begins an index that calls @key for the keys of entries when it grows. */
void indexed_init(
	struct indexed *ix, uint64_t (*key)(const void *of, uint32_t entry), const void *of);
void indexed_free(struct indexed *ix);

/* The first entry that may have @key, and the one after @entry; INDEXED_NONE: there is none. */
uint32_t indexed_first(const struct indexed *ix, uint64_t key);
uint32_t indexed_next(const struct indexed *ix, uint32_t entry);
/* Adds the entry ix->n, which has @key. Returns 0 or -ENOMEM. */
int indexed_add(struct indexed *ix, uint64_t key);

/* Makes room for entry @n of @array, whose entries have @size bytes: doubles @room when it is full.
 * Returns the array, which may have moved; NULL: no memory, and the old array is still valid. */
void *indexed_room(void *array, uint32_t n, uint32_t *room, size_t size);

#endif
