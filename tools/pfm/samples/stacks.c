// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The key of a node: a command or a function. */
struct stack_key {
	const char *name;
	const char *object;
	bool kernel, inlined;
};

static struct stack_node *stack_known(const struct stacks *st, const struct stack_node *parent,
	const struct stack_key *k, uint64_t key)
{
	for (struct hash_node *n = hash_find(&st->nodes, key); n; n = hash_find_next(n)) {
		struct stack_node *s = container_of(n, struct stack_node, node);

		if (s->parent == parent && s->kernel == k->kernel && s->inlined == k->inlined &&
			strcmp(s->name, k->name) == 0)
			return s;
	}
	return NULL;
}

/* Finds a child of @parent, or adds it. NULL: no memory. */
static struct stack_node *stack_child(
	struct stacks *st, struct stack_node *parent, const struct stack_key *k)
{
	uint64_t key = hash_string(k->name) ^ (uintptr_t)parent;
	struct stack_node *s = stack_known(st, parent, k, key);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s || !(s->name = strdup(k->name))) {
		free(s);
		return NULL;
	}
	s->parent = parent;
	s->object = k->object;
	s->kernel = k->kernel;
	s->inlined = k->inlined;
	hash_add(&st->nodes, &s->node, key);
	return s;
}

/* Adds @weight to a child of @at, and returns the child. NULL: no memory. */
static struct stack_node *stack_step(
	struct stacks *st, struct stack_node *at, const struct stack_key *k, uint64_t weight)
{
	at = stack_child(st, at, k);
	if (at)
		at->weight += weight;
	return at;
}

static const char stack_unknown[] = "[unknown]";

/* Adds a frame. An address in no file was read from something that is not a frame; several such
 * addresses in a row make one node. */
static struct stack_node *stack_step_frame(
	struct stacks *st, struct stack_node *at, const struct location *p, uint64_t weight)
{
	char room[LOCATION_ROOM];
	const struct stack_key k = {
		.name = p->object ? location_name(p, room) : stack_unknown,
		.object = location_object(p),
		.kernel = p->kernel,
		.inlined = p->into,
	};

	if (!p->object && at->object && !at->kernel && strcmp(at->name, stack_unknown) == 0)
		return at;
	return stack_step(st, at, &k, weight);
}

static int stack_add(struct stacks *st, const struct recorded_sample *s, bool callers)
{
	const struct stack_key comm = {.name = s->comm ? s->comm : stack_unknown};
	struct stack_node *at = &st->root;

	st->root.weight += s->weight;
	if (!callers)
		at = stack_step(st, at, &comm, s->weight);
	for (uint32_t i = 0; i < s->nframes && at; i++) {
		uint32_t frame = callers ? i : s->nframes - 1 - i;

		at = stack_step_frame(st, at, s->frames[frame].at, s->weight);
	}
	if (at && callers)
		at = stack_step(st, at, &comm, s->weight);
	if (!at)
		return -ENOMEM;
	at->self += s->weight;
	return 0;
}

/* Sorts the last name first, as each sibling is put before those that are linked already. */
static int stack_compare_names(const void *a, const void *b)
{
	const struct stack_node *x = *(struct stack_node *const *)a;
	const struct stack_node *y = *(struct stack_node *const *)b;
	int order = strcmp(y->name, x->name);

	if (order)
		return order;
	return x->kernel != y->kernel ? x->kernel - y->kernel : x->inlined - y->inlined;
}

static int stack_compare_weights(const void *a, const void *b)
{
	const struct stack_node *x = *(struct stack_node *const *)a;
	const struct stack_node *y = *(struct stack_node *const *)b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return stack_compare_names(a, b);
}

static int stack_link(struct stacks *st, enum stacks_order order)
{
	struct stack_node **all = calloc(st->nodes.n + 1, sizeof(*all));
	size_t n = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < st->nodes.nbuckets; i++)
		for (struct hash_node *h = st->nodes.bucket[i]; h; h = h->next)
			all[n++] = container_of(h, struct stack_node, node);
	qsort(all, n, sizeof(*all),
		order == STACKS_BY_NAME ? stack_compare_names : stack_compare_weights);
	for (size_t i = 0; i < n; i++) {
		all[i]->next = all[i]->parent->child;
		all[i]->parent->child = all[i];
	}
	free(all);
	return 0;
}

int stacks_build(struct stacks *st, const struct recording *r, enum stacks_order order)
{
	*st = (struct stacks){.root = {.weight = 0}};
	if (hash_init(&st->nodes) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->nsamples; i++)
		if (stack_add(st, &r->samples[i], order == STACKS_CALLERS) < 0)
			return -ENOMEM;
	return stack_link(st, order);
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
