// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct stack_node *stack_known(
	const struct stacks *st, const struct stack_node *parent, const char *name, uint64_t key)
{
	for (struct hash_node *n = hash_find(&st->nodes, key); n; n = hash_find_next(n)) {
		struct stack_node *s = container_of(n, struct stack_node, node);

		if (s->parent == parent && strcmp(s->name, name) == 0)
			return s;
	}
	return NULL;
}

/* NULL: no memory. */
static struct stack_node *stack_child(
	struct stacks *st, struct stack_node *parent, const char *name, const char *object)
{
	uint64_t key = hash_string(name) ^ (uintptr_t)parent;
	struct stack_node *s = stack_known(st, parent, name, key);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s || !(s->name = strdup(name))) {
		free(s);
		return NULL;
	}
	s->parent = parent;
	s->object = object;
	hash_add(&st->nodes, &s->node, key);
	return s;
}

static int stack_add(struct stacks *st, const struct recorded_sample *s)
{
	struct stack_node *at = stack_child(st, &st->root, s->comm ? s->comm : "[unknown]", NULL);
	char room[LOCATION_ROOM];

	st->root.weight += s->s->weight;
	for (uint32_t i = s->s->nframes; i-- > 0 && at;) {
		at->weight += s->s->weight;
		at = stack_child(st, at, location_name(s->locations[i], room),
			location_object(s->locations[i]));
	}
	if (!at)
		return -ENOMEM;
	at->weight += s->s->weight;
	at->self += s->s->weight;
	return 0;
}

/* Siblings by parent and name, the last first: they are put before each other. */
static int stack_compare(const void *a, const void *b)
{
	const struct stack_node *x = *(struct stack_node *const *)a;
	const struct stack_node *y = *(struct stack_node *const *)b;

	return strcmp(y->name, x->name);
}

static int stack_link(struct stacks *st)
{
	struct stack_node **all = calloc(st->nodes.n + 1, sizeof(*all));
	size_t n = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < st->nodes.nbuckets; i++)
		for (struct hash_node *h = st->nodes.bucket[i]; h; h = h->next)
			all[n++] = container_of(h, struct stack_node, node);
	qsort(all, n, sizeof(*all), stack_compare);
	for (size_t i = 0; i < n; i++) {
		all[i]->next = all[i]->parent->child;
		all[i]->parent->child = all[i];
	}
	free(all);
	return 0;
}

int stacks_build(struct stacks *st, const struct recording *r)
{
	*st = (struct stacks){.root = {.weight = 0}};
	if (hash_init(&st->nodes) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->nsamples; i++)
		if (stack_add(st, &r->samples[i]) < 0)
			return -ENOMEM;
	return stack_link(st);
}

void stacks_free(struct stacks *st)
{
	for (size_t i = 0; i < st->nodes.nbuckets; i++)
		for (struct hash_node *h = st->nodes.bucket[i], *next; h; h = next) {
			struct stack_node *s = container_of(h, struct stack_node, node);

			next = h->next;
			free(s->name);
			free(s);
		}
	hash_free(&st->nodes);
}
