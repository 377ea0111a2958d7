// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/indexed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INDEXED_MIN = 64, INDEXED_LOAD = 2 };

void indexed_init(
	struct indexed *ix, uint64_t (*key)(const void *of, uint32_t entry), const void *of)
{
	*ix = (struct indexed){.key = key, .of = of};
}

void indexed_free(struct indexed *ix)
{
	free(ix->bucket);
	free(ix->next);
	*ix = (struct indexed){.n = 0};
}

static uint32_t *indexed_bucket(const struct indexed *ix, uint64_t key)
{
	return &ix->bucket[key & (ix->nbuckets - 1)];
}

static void indexed_link(struct indexed *ix, uint32_t entry, uint64_t key)
{
	uint32_t *b = indexed_bucket(ix, key);

	ix->next[entry] = *b;
	*b = entry;
}

static int indexed_grow(struct indexed *ix)
{
	uint32_t nbuckets = ix->nbuckets ? 2 * ix->nbuckets : INDEXED_MIN;
	uint32_t *bucket = malloc(nbuckets * sizeof(*bucket));

	if (!bucket)
		return -ENOMEM;
	memset(bucket, 0xff, nbuckets * sizeof(*bucket));
	free(ix->bucket);
	ix->bucket = bucket;
	ix->nbuckets = nbuckets;
	for (uint32_t i = 0; i < ix->n; i++)
		indexed_link(ix, i, ix->key(ix->of, i));
	return 0;
}

uint32_t indexed_first(const struct indexed *ix, uint64_t key)
{
	return ix->nbuckets ? *indexed_bucket(ix, key) : INDEXED_NONE;
}

uint32_t indexed_next(const struct indexed *ix, uint32_t entry)
{
	return ix->next[entry];
}

int indexed_add(struct indexed *ix, uint64_t key)
{
	uint32_t *next;

	if (ix->n / INDEXED_LOAD >= ix->nbuckets && indexed_grow(ix) < 0)
		return -ENOMEM;
	next = indexed_room(ix->next, ix->n, &ix->room, sizeof(*next));
	if (!next)
		return -ENOMEM;
	ix->next = next;
	indexed_link(ix, ix->n++, key);
	return 0;
}

void *indexed_room(void *array, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : INDEXED_MIN;

	if (n < *room)
		return array;
	if (*room > INDEXED_NONE / 2)
		return NULL;
	array = realloc(array, more * size);
	if (array)
		*room = more;
	return array;
}
