// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pfm/samples/indexed.h"
#include "tools/pfm/text/names.h"

static int stored_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for the names of the recording");
}

static int stored_refuse(struct err *e)
{
	return err_set(e, EINVAL,
		"the file is damaged: a name refers to one that the file lacks: record it again");
}

static int stored_add_strings(struct stored *s, const struct data_strings *from, struct err *e)
{
	char *at = (char *)(uintptr_t)(from + 1); /* in the file's memory, which is ours to clean */

	for (uint32_t i = 0; i < from->n; i++) {
		size_t length = strlen(at);
		void *p = indexed_room(
			s->strings, s->nstrings, &s->strings_room, sizeof(*s->strings));

		if (!p)
			return stored_no_memory(e);
		s->strings = p;
		name_clean(at);
		s->strings[s->nstrings++] = at;
		at += length + 1;
	}
	return 0;
}

static int stored_add_object(struct stored *s, const struct data_object *from, struct err *e)
{
	void *p;

	if (from->why && from->why >= s->nstrings)
		return stored_refuse(e);
	p = indexed_room(s->objects, s->nobjects, &s->objects_room, sizeof(*s->objects));
	if (!p)
		return stored_no_memory(e);
	s->objects = p;
	s->objects[s->nobjects++] =
		(struct stored_object){.from = from, .why = stored_string(s, from->why)};
	return 0;
}

static bool stored_has_strings(const struct stored *s, const struct data_place *at)
{
	return (!at->function || at->function < s->nstrings) &&
	       (!at->file || at->file < s->nstrings) && (!at->dir || at->dir < s->nstrings);
}

static int stored_add_places(struct stored *s, const struct data_places *from, struct err *e)
{
	void *p;

	if (from->object >= s->nobjects)
		return stored_refuse(e);
	for (uint32_t i = 0; i < from->n; i++)
		if (!stored_has_strings(s, &data_places(from)[i]))
			return stored_refuse(e);
	p = indexed_room(s->lists, s->nlists, &s->lists_room, sizeof(*s->lists));
	if (!p)
		return stored_no_memory(e);
	s->lists = p;
	s->lists[s->nlists++] = from;
	return 0;
}

static int stored_add_code(struct stored *s, const struct data_code *from, struct err *e)
{
	void *p;

	if (from->object >= s->nobjects)
		return stored_refuse(e);
	p = indexed_room(s->codes, s->ncodes, &s->codes_room, sizeof(*s->codes));
	if (!p)
		return stored_no_memory(e);
	s->codes = p;
	s->codes[s->ncodes++] = from;
	return 0;
}

int stored_add(struct stored *s, const struct data_rec *rec, struct err *e)
{
	if (rec->type == DATA_STRINGS)
		return stored_add_strings(s, data_body(rec), e);
	if (rec->type == DATA_OBJECT)
		return stored_add_object(s, data_body(rec), e);
	if (rec->type == DATA_CODE)
		return stored_add_code(s, data_body(rec), e);
	return stored_add_places(s, data_body(rec), e);
}

static uint64_t stored_key(const struct object *in, bool kernel, uint64_t offset)
{
	return hash_pair(offset, kernel ? 0 : in->number + 1ULL);
}

static int stored_index_objects(struct stored *s, struct image *im)
{
	for (size_t i = 0; i < s->nobjects; i++) {
		struct stored_object *o = &s->objects[i];

		if (o->from->flags & DATA_OBJECT_PROCESS)
			o->object = image_made(im, o->from->pid, o->from->life);
		else
			o->object = image_object(im, o->from->name, o->from->id, o->from->id_size);
		if (!o->object)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the places of a list from @all on. Returns the one after them. */
static struct stored_place *stored_index_list(
	struct stored *s, const struct data_places *list, struct stored_place *all)
{
	const struct stored_object *in = &s->objects[list->object];
	const struct data_place *at = data_places(list);

	for (uint32_t i = 0; i < list->n; all++) {
		*all = (struct stored_place){.in = in, .first = &at[i], .n = 1};
		while (at[i++].inlined)
			all->n++;
		hash_add(&s->places, &all->node,
			stored_key(in->object, in->from->flags & DATA_OBJECT_KERNEL,
				all->first->offset));
	}
	return all;
}

/* Compares stored code with what begins at a byte of an object. */
static int stored_compare(
	const struct stored *s, const struct data_code *c, const struct object *in, uint64_t offset)
{
	uint32_t number = s->objects[c->object].object->number;

	if (number != in->number)
		return number < in->number ? -1 : 1;
	return c->offset < offset ? -1 : c->offset > offset;
}

static int stored_compare_codes(const void *a, const void *b, void *of)
{
	const struct data_code *const *x = a, *const *y = b;
	const struct stored *s = of;

	return stored_compare(s, *x, s->objects[(*y)->object].object, (*y)->offset);
}

int stored_index(struct stored *s, struct image *im)
{
	struct stored_place *all;
	size_t n = 1;

	if (hash_init(&s->places) < 0 || stored_index_objects(s, im) < 0)
		return -ENOMEM;
	if (s->ncodes)
		qsort_r(s->codes, s->ncodes, sizeof(struct data_code *), stored_compare_codes, s);
	for (size_t i = 0; i < s->nlists; i++)
		n += s->lists[i]->n;
	s->all = all = calloc(n, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < s->nlists; i++)
		all = stored_index_list(s, s->lists[i], all);
	return 0;
}

void stored_free(struct stored *s)
{
	hash_free(&s->places);
	free(s->all);
	free(s->lists);
	free(s->codes);
	free(s->objects);
	free(s->strings);
}

const struct stored_place *stored_find(
	const struct stored *s, const struct object *in, bool kernel, uint64_t offset)
{
	struct hash_node *n = NULL;

	if (in || kernel)
		n = hash_find(&s->places, stored_key(in, kernel, offset));
	for (; n; n = hash_find_next(n)) {
		const struct stored_place *p = container_of(n, struct stored_place, node);
		bool is_kernel = p->in->from->flags & DATA_OBJECT_KERNEL;

		if (p->first->offset == offset && is_kernel == kernel &&
			(kernel || p->in->object == in))
			return p;
	}
	return NULL;
}

const struct data_code *stored_code(
	const struct stored *s, const struct object *object, uint64_t offset)
{
	uint32_t low = 0, high = object ? s->ncodes : 0;
	const struct data_code *c;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (stored_compare(s, s->codes[middle], object, offset) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	c = s->codes[low - 1];
	return s->objects[c->object].object == object && offset - c->offset < c->size ? c : NULL;
}

const char *stored_string(const struct stored *s, uint32_t number)
{
	return number ? s->strings[number] : NULL;
}
