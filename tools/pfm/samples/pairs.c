// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/pairs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/hash.h"

static uint64_t pairs_key(const void *of, uint32_t entry)
{
	const struct pairs *p = of;

	return hash_pair(p->list[entry].a, p->list[entry].b);
}

void pairs_init(struct pairs *p)
{
	*p = (struct pairs){.n = 0};
	indexed_init(&p->seen, pairs_key, p);
}

void pairs_free(struct pairs *p)
{
	free(p->list);
	indexed_free(&p->seen);
	*p = (struct pairs){.n = 0};
}

int pairs_number(struct pairs *p, uint64_t a, uint64_t b, const void *what)
{
	uint64_t key = hash_pair(a, b);
	struct pair *list;

	for (uint32_t i = indexed_first(&p->seen, key); i != INDEXED_NONE;
		i = indexed_next(&p->seen, i))
		if (p->list[i].a == a && p->list[i].b == b)
			return (int)i;
	list = p->n < INT_MAX ? indexed_room(p->list, p->n, &p->room, sizeof(*list)) : NULL;
	if (!list)
		return -ENOMEM;
	p->list = list;
	list[p->n] = (struct pair){.a = a, .b = b, .what = what, .index = p->n};
	return indexed_add(&p->seen, key) < 0 ? -ENOMEM : (int)p->n++;
}

int pairs_weigh(struct pairs *p, uint64_t a, uint64_t b, uint64_t weight)
{
	int n = pairs_number(p, a, b, NULL);

	if (n < 0)
		return n;
	p->list[n].weight += weight;
	return 0;
}
