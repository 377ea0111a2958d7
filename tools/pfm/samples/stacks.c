// SPDX-License-Identifier: MIT
/* Samples are added up by command and stack, then each stack is put into the tree once. */
#include "tools/pfm/samples/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char stack_unknown[] = "[unknown]";

static uint64_t stack_name_key(const struct stack_name *k)
{
	return hash_pair(hash_name(k->name), k->kernel + 2 * k->inlined + 4 * k->command);
}

static uint64_t stacks_name_key(const void *of, uint32_t entry)
{
	return stack_name_key(&((const struct stacks *)of)->names[entry]);
}

static uint64_t stacks_node_key(const void *of, uint32_t entry)
{
	const struct stack_node *s = &((const struct stacks *)of)->nodes[entry];

	return hash_pair(s->parent, s->name);
}

/* Whether functions of the same name are in the same object, where that counts. */
static bool stacks_same_object(
	const struct stacks *st, const struct stack_name *a, const struct stack_name *b)
{
	return !st->by_object || a->command || strcmp(a->object, b->object) == 0;
}

/* Numbers a name, which is copied if it is new. Returns 0 or -ENOMEM. */
static int stacks_name(struct stacks *st, const struct stack_name *k, uint32_t *number)
{
	uint64_t key = stack_name_key(k);
	struct stack_name *names;

	for (uint32_t i = indexed_first(&st->by_name, key); i != INDEXED_NONE;
		i = indexed_next(&st->by_name, i)) {
		const struct stack_name *known = &st->names[i];

		*number = i;
		if (known->kernel == k->kernel && known->inlined == k->inlined &&
			known->command == k->command && strcmp(known->name, k->name) == 0 &&
			stacks_same_object(st, known, k))
			return 0;
	}
	names = indexed_room(st->names, st->nnames, &st->names_room, sizeof(*names));
	if (!names)
		return -ENOMEM;
	st->names = names;
	names[st->nnames] = *k;
	names[st->nnames].name = strdup(k->name);
	*number = st->nnames;
	return names[st->nnames++].name && indexed_add(&st->by_name, key) == 0 ? 0 : -ENOMEM;
}

/* Finds a child of @parent, or adds it. Returns 0 or -ENOMEM. */
static int stacks_step(struct stacks *st, uint32_t parent, uint32_t name, uint32_t *child)
{
	uint64_t key = hash_pair(parent, name);
	struct stack_node *nodes;

	for (uint32_t i = indexed_first(&st->by_parent, key); i != INDEXED_NONE;
		i = indexed_next(&st->by_parent, i)) {
		*child = i;
		if (st->nodes[i].parent == parent && st->nodes[i].name == name)
			return 0;
	}
	nodes = indexed_room(st->nodes, st->n, &st->room, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	st->nodes = nodes;
	nodes[st->n] = (struct stack_node){.parent = parent, .name = name};
	*child = st->n++;
	return indexed_add(&st->by_parent, key);
}

/* The names of locations, by their numbers. */
struct stack_locations {
	uint32_t *name;
	const struct recording *r;
};

static int stacks_name_locations(struct stacks *st, struct stack_locations *l)
{
	char room[LOCATION_ROOM];

	for (uint32_t i = 0; i < l->r->nlocations; i++) {
		const struct location *p = l->r->by_number[i];
		const struct stack_name k = {
			.name = (char *)(uintptr_t)(p->object ? location_name(p, room)
							      : stack_unknown),
			.object = location_object(p),
			.kernel = p->kernel,
			.inlined = p->into,
		};

		if (stacks_name(st, &k, &l->name[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds a function. An address in no file was read from something that is not a frame; several such
 * addresses in a row make one node. */
static int stacks_step_location(
	struct stacks *st, const struct stack_locations *l, const struct location *p, uint32_t *at)
{
	if (!p->object && st->nodes[*at].name == l->name[p->number])
		return 0;
	return stacks_step(st, *at, l->name[p->number], at);
}

/* Adds the functions at a location: those into which it is inlined first, or last for callers. */
static int stacks_step_all(struct stacks *st, const struct stack_locations *l,
	const struct location *p, bool callers, uint32_t *at)
{
	if (callers && stacks_step_location(st, l, p, at) < 0)
		return -ENOMEM;
	if (p->into && stacks_step_all(st, l, p->into, callers, at) < 0)
		return -ENOMEM;
	return callers ? 0 : stacks_step_location(st, l, p, at);
}

static int stacks_add(
	struct stacks *st, const struct stack_locations *l, const struct pair *p, bool callers)
{
	const struct recorded_stack stack = recording_stack(l->r, (uint32_t)p->b);
	uint32_t at = 0, comm = (uint32_t)p->a;

	if (!callers && stacks_step(st, at, comm, &at) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < stack.n; i++) {
		uint32_t n = stack.locations[callers ? i : stack.n - 1 - i];

		if (stacks_step_all(st, l, l->r->by_number[n], callers, &at) < 0)
			return -ENOMEM;
	}
	if (callers && stacks_step(st, at, comm, &at) < 0)
		return -ENOMEM;
	st->nodes[at].weight += p->weight;
	st->leaves[p->index] = at;
	return 0;
}

/* Adds up the samples, by command and stack. */
static int stacks_count(struct stacks *st, const struct recording *r)
{
	uint32_t *comm = calloc(r->threads.index.n + 1UL, sizeof(*comm));

	free(st->commands);
	st->commands = comm;
	pairs_free(&st->alike);
	pairs_init(&st->alike);
	if (!comm)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->threads.index.n; i++) {
		const struct recorded_thread *t = interned_get(&r->threads, i).p;
		const struct stack_name k = {
			.name = (char *)(uintptr_t)(t->comm ? t->comm : stack_unknown),
			.command = true};

		if (stacks_name(st, &k, &comm[i]) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < r->nsamples; i++)
		if (pairs_weigh(&st->alike, comm[r->samples[i].thread], r->samples[i].stack,
			    r->samples[i].weight) < 0)
			return -ENOMEM;
	free(st->leaves);
	st->leaves = calloc(st->alike.n + 1UL, sizeof(*st->leaves));
	return st->leaves ? 0 : -ENOMEM;
}

static int stacks_fill(struct stacks *st, const struct recording *r, bool callers)
{
	struct stack_locations l = {calloc(r->nlocations + 1UL, sizeof(*l.name)), r};
	int rc;

	rc = l.name ? 0 : -ENOMEM;
	if (rc == 0 && !st->n)
		rc = stacks_step(st, 0, INDEXED_NONE, &(uint32_t){0});
	if (rc == 0)
		rc = stacks_name_locations(st, &l);
	if (rc == 0)
		rc = stacks_count(st, r);
	for (uint32_t i = 0; rc == 0 && i < st->alike.n; i++)
		rc = stacks_add(st, &l, &st->alike.list[i], callers);
	free(l.name);
	return rc;
}

/* --- Order */

static int stacks_compare_names(const void *a, const void *b, void *of)
{
	const struct stack_name *x = &((const struct stacks *)of)->names[*(const uint32_t *)a];
	const struct stack_name *y = &((const struct stacks *)of)->names[*(const uint32_t *)b];
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (x->kernel != y->kernel)
		return y->kernel - x->kernel;
	if (x->command == y->command && !stacks_same_object(of, x, y))
		return strcmp(x->object, y->object);
	return y->inlined - x->inlined;
}

/* Orders nodes last to first, as each sibling is put before those that are linked already. */
static int stacks_compare_weights(const void *a, const void *b, void *of)
{
	const struct stacks *st = of;
	const struct stack_node *x = &st->nodes[*(const uint32_t *)a];
	const struct stack_node *y = &st->nodes[*(const uint32_t *)b];
	uint32_t first = st->names[x->name].rank, second = st->names[y->name].rank;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return first < second ? 1 : first > second ? -1 : 0;
}

static int stacks_rank(struct stacks *st)
{
	CLEANUP_FREE uint32_t *names = calloc(st->nnames + 1UL, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < st->nnames; i++)
		names[i] = i;
	qsort_r(names, st->nnames, sizeof(*names), stacks_compare_names, st);
	for (uint32_t i = 0; i < st->nnames; i++)
		st->names[names[i]].rank = i;
	return 0;
}

/* Lists the nodes but the root with the last names first. Names are few: they are counted. */
static int stacks_by_rank(const struct stacks *st, uint32_t *all)
{
	CLEANUP_FREE uint32_t *at = calloc(st->nnames + 1UL, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (uint32_t i = 1; i < st->n; i++)
		at[st->nnames - 1 - stack_name(st, &st->nodes[i])->rank + 1]++;
	for (uint32_t i = 1; i < st->nnames; i++)
		at[i] += at[i - 1];
	for (uint32_t i = 1; i < st->n; i++)
		all[at[st->nnames - 1 - stack_name(st, &st->nodes[i])->rank]++] = i;
	return 0;
}

/* Adds the weights of nodes to those of their parents. */
static void stacks_add_up(struct stacks *st)
{
	for (uint32_t i = st->n; i-- > 0;) {
		struct stack_node *s = &st->nodes[i];

		if (st->before)
			st->before[i].weight += st->before[i].self;
		if (!i)
			break;
		st->nodes[s->parent].weight += s->weight;
		if (st->before)
			st->before[s->parent].weight += st->before[i].weight;
	}
}

/* Adds up weights, and links the children of each node. */
static int stacks_link(struct stacks *st, enum stacks_order order)
{
	CLEANUP_FREE uint32_t *all = calloc(st->n, sizeof(*all));

	if (!all || stacks_rank(st) < 0 || stacks_by_rank(st, all) < 0)
		return -ENOMEM;
	stacks_add_up(st);
	if (order != STACKS_BY_NAME)
		qsort_r(all, st->n - 1, sizeof(*all), stacks_compare_weights, st);
	for (uint32_t i = 0; i + 1 < st->n; i++) {
		struct stack_node *s = &st->nodes[all[i]], *parent = &st->nodes[s->parent];

		s->next = parent->child;
		parent->child = all[i];
	}
	return 0;
}

/* Moves the weights of the first recording, whose nodes are the first @n ones, out of the nodes. */
static int stacks_set_before(struct stacks *st, const uint64_t *selves, uint32_t n)
{
	st->before = calloc(st->n, sizeof(*st->before));
	if (!st->before)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		st->before[i].self = selves[i];
		st->nodes[i].weight -= selves[i];
	}
	return 0;
}

/* Adds the second recording to the tree of the first. */
static int stacks_fill_after(struct stacks *st, const struct recording *r, bool callers)
{
	CLEANUP_FREE uint64_t *selves = calloc(st->n, sizeof(*selves));
	uint32_t n = st->n;

	if (!selves)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		selves[i] = st->nodes[i].weight;
	return stacks_fill(st, r, callers) < 0 ? -ENOMEM : stacks_set_before(st, selves, n);
}

static int stacks_build_all(struct stacks *st, const struct recording *first,
	const struct recording *second, enum stacks_order order, bool by_object)
{
	int rc;

	*st = (struct stacks){.by_object = by_object};
	pairs_init(&st->alike);
	indexed_init(&st->by_name, stacks_name_key, st);
	indexed_init(&st->by_parent, stacks_node_key, st);
	rc = stacks_fill(st, first, order == STACKS_CALLERS);
	if (rc == 0 && second)
		rc = stacks_fill_after(st, second, order == STACKS_CALLERS);
	indexed_free(&st->by_parent);
	indexed_free(&st->by_name);
	return rc < 0 ? rc : stacks_link(st, order);
}

int stacks_build(struct stacks *st, const struct recording *r, enum stacks_order order)
{
	return stacks_build_all(st, r, NULL, order, false);
}

int stacks_build_by_object(struct stacks *st, const struct recording *r, enum stacks_order order)
{
	return stacks_build_all(st, r, NULL, order, true);
}

int stacks_build_diff(
	struct stacks *st, const struct recording *const r[2], enum stacks_order order)
{
	return stacks_build_all(st, r[0], r[1], order, false);
}

void stacks_free(struct stacks *st)
{
	for (uint32_t i = 0; i < st->nnames; i++)
		free(st->names[i].name);
	free(st->names);
	free(st->nodes);
	free(st->before);
	free(st->leaves);
	free(st->commands);
	pairs_free(&st->alike);
}

uint32_t stacks_leaf(struct stacks *st, const struct recorded_sample *s)
{
	int known = pairs_number(&st->alike, st->commands[s->thread], s->stack, NULL);

	return known < 0 ? 0 : st->leaves[known];
}

uint64_t stack_self(const struct stacks *st, const struct stack_node *s)
{
	uint64_t self = s->weight;

	for (uint32_t i = s->child; i; i = st->nodes[i].next)
		self -= st->nodes[i].weight;
	return self;
}

bool stacks_walk(const struct stacks *st, struct stack_walk *w, bool below)
{
	if (below && st->nodes[w->at].child) {
		w->at = st->nodes[w->at].child;
		w->depth++;
		return true;
	}
	while (w->at && !st->nodes[w->at].next) {
		w->at = st->nodes[w->at].parent;
		w->depth--;
	}
	w->at = st->nodes[w->at].next;
	return w->at;
}
