// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/pairs.h"

#include <errno.h>
#include <stdlib.h>

int pairs_init(struct pairs *p)
{
	*p = (struct pairs){.n = 0};
	return hash_init(&p->hash);
}

void pairs_free(struct pairs *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->list[i]);
	free(p->list);
	hash_free(&p->hash);
	*p = (struct pairs){.n = 0};
}

static int pairs_add(struct pairs *p, const struct pair *new, uint64_t key)
{
	struct pair *copy;

	if (p->n == p->room) {
		unsigned room = p->room ? 2 * p->room : 64;
		struct pair **list = realloc(p->list, room * sizeof(struct pair *));

		if (!list)
			return -ENOMEM;
		p->list = list;
		p->room = room;
	}
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *new;
	copy->index = p->n;
	p->list[p->n++] = copy;
	hash_add(&p->hash, &copy->node, key);
	return (int)copy->index;
}

int pairs_number(struct pairs *p, uint64_t a, uint64_t b, const void *what)
{
	struct pair new = {.a = a, .b = b, .what = what};
	uint64_t key = a * 31 + b;

	for (struct hash_node *n = hash_find(&p->hash, key); n; n = hash_find_next(n)) {
		const struct pair *known = container_of(n, struct pair, node);

		if (known->a == a && known->b == b)
			return (int)known->index;
	}
	return pairs_add(p, &new, key);
}
