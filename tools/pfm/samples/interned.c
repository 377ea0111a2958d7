// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/interned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { INTERNED_BLOCK = 1 << 18 };

struct interned_block {
	struct interned_block *next;
	size_t n, room;
	uint64_t bytes[];
};

static uint64_t interned_key(const void *of, uint32_t entry)
{
	const struct interned *in = of;

	return hash_bytes(in->list[entry].p, in->list[entry].size);
}

void interned_init(struct interned *in)
{
	*in = (struct interned){.room = 0};
	indexed_init(&in->index, interned_key, in);
}

void interned_free(struct interned *in)
{
	for (struct interned_block *b = in->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(in->list);
	indexed_free(&in->index);
	*in = (struct interned){.room = 0};
}

static void *interned_alloc(struct interned *in, size_t size)
{
	struct interned_block *b = in->blocks;
	size_t room = size > INTERNED_BLOCK ? size : INTERNED_BLOCK;

	size = (size + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
	if (!b || size > b->room - b->n) {
		b = malloc(sizeof(*b) + room + sizeof(uint64_t));
		if (!b)
			return NULL;
		*b = (struct interned_block){in->blocks, 0, room + sizeof(uint64_t)};
		in->blocks = b;
	}
	b->n += size;
	return (char *)b->bytes + b->n - size;
}

/* Adds a sequence that is not copied. */
static int interned_add(struct interned *in, const void *p, size_t size, uint64_t key)
{
	struct interned_sequence *list =
		indexed_room(in->list, in->index.n, &in->room, sizeof(*list));

	if (!list)
		return -ENOMEM;
	in->list = list;
	list[in->index.n] = (struct interned_sequence){p, size};
	return indexed_add(&in->index, key);
}

int interned_borrow(struct interned *in, const void *p, size_t size, uint32_t *number)
{
	uint64_t key = hash_bytes(p, size);

	for (uint32_t i = indexed_first(&in->index, key); i != INDEXED_NONE;
		i = indexed_next(&in->index, i)) {
		*number = i;
		if (in->list[i].size == size && (!size || memcmp(in->list[i].p, p, size) == 0))
			return 0;
	}
	*number = in->index.n;
	return interned_add(in, p, size, key);
}

int interned_number(struct interned *in, const void *p, size_t size, uint32_t *number)
{
	uint32_t known = in->index.n;
	void *copy;

	if (interned_borrow(in, p, size, number) < 0)
		return -ENOMEM;
	if (*number < known)
		return 0;
	copy = interned_alloc(in, size);
	if (!copy)
		return -ENOMEM;
	if (size)
		memcpy(copy, p, size);
	in->list[known].p = copy;
	return 0;
}
