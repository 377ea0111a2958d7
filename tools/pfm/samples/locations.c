// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/locations.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/demangle.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/samples/recording.h"

static struct location *locations_known(
	const struct recording *r, const struct location *p, uint64_t key)
{
	for (struct hash_node *n = hash_find(&r->locations, key); n; n = hash_find_next(n)) {
		struct location *known = container_of(n, struct location, node);

		if (known->in == p->in && known->offset == p->offset &&
			known->kernel == p->kernel && known->depth == 0)
			return known;
	}
	return NULL;
}

struct demangled_name {
	struct hash_node node;
	char *name; /* NULL: the name was not mangled */
};

/* Demangles a name, or finds the result of doing so before. NULL: no memory. */
static struct demangled_name *locations_demangled(struct recording *r, const char *name)
{
	struct hash_node *known = hash_find(&r->demangled, (uintptr_t)name);
	struct demangled_name *d;

	if (known)
		return container_of(known, struct demangled_name, node);
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->name = demangle(name);
	if (d->name)
		name_clean(d->name);
	hash_add(&r->demangled, &d->node, (uintptr_t)name);
	if (!demangle_supported && r->demangled.n == 1)
		text_printf(&r->notes, "names of C++ and Rust as the linker has them: this pfm was "
				       "built without libiberty (libiberty-dev)\n");
	return d;
}

/* Demangles the function's name. All locations of a function have the same pointer to its name. */
static int location_demangle(struct recording *r, struct location *p)
{
	struct demangled_name *d;

	if (!(r->names & RECORDING_DEMANGLE) || !p->function || !demangle_is_mangled(p->function))
		return 0;
	d = locations_demangled(r, p->function);
	if (!d)
		return -ENOMEM;
	p->function = d->name ? d->name : p->function;
	return 0;
}

static int location_label(const struct recording *r, struct location *p)
{
	if (!(r->names & RECORDING_LINES) || !p->function || !p->line.file)
		return 0;
	return asprintf(&p->label, "%s %s:%u", p->function, p->line.file, p->line.line) < 0
		       ? -ENOMEM
		       : 0;
}

/* Makes a name of @p for people, and puts @p among the known ones. */
static int location_keep(struct recording *r, struct location *p, uint64_t key)
{
	int rc = location_demangle(r, p);
	const struct location **all;

	r->nlines += p->line.file != NULL;
	hash_add(&r->locations, &p->node, key);
	all = indexed_room(r->by_number, r->nlocations, &r->locations_room, sizeof(*all));
	if (!all)
		return -ENOMEM;
	r->by_number = all;
	p->number = r->nlocations++;
	all[p->number] = p;
	return rc < 0 ? rc : location_label(r, p);
}

/* Sets what is stored about a function at the place of @p. */
static void location_set(const struct recording *r, struct location *p, const struct data_place *f)
{
	const struct stored *s = &r->stored;

	p->address = f->address;
	p->function = stored_string(s, f->function);
	p->function_offset = f->function_offset;
	p->line = (struct symbol_line){.file = stored_string(s, f->file),
		.dir = stored_string(s, f->dir),
		.line = f->line};
}

/* Adds the function that contains all others at its place, which has the position of the innermost.
 */
static const struct location *locations_add_whole(
	struct recording *r, struct location *p, const struct stored_place *stored, uint64_t key)
{
	struct symbol_line line;

	location_set(r, p, &stored->first[0]);
	line = p->line;
	location_set(r, p, &stored->first[stored->n - 1]);
	p->line = line;
	return location_keep(r, p, key) < 0 ? NULL : p;
}

/* Adds the functions of a place, of which each is inlined into the next. */
static const struct location *locations_add_all(
	struct recording *r, struct location *p, const struct stored_place *stored, uint64_t key)
{
	struct location *first = p;

	for (unsigned i = 0; i < stored->n; i++) {
		struct location *outer = i + 1 < stored->n ? malloc(sizeof(*outer)) : NULL;

		if (outer)
			*outer = *p;
		location_set(r, p, &stored->first[i]);
		p->depth = i;
		p->into = outer;
		if (location_keep(r, p, key) < 0 || (!outer && i + 1 < stored->n)) {
			free(outer);
			return NULL;
		}
		p = outer;
	}
	return first;
}

const char *location_state(uint64_t ip)
{
	return ip == DATA_WAITING ? "[waiting]" : ip == DATA_PREEMPTED ? "[preempted]" : NULL;
}

/* Adds a location, its names, and the functions into which it is inlined. NULL: no memory. */
static const struct location *locations_add(
	struct recording *r, const struct location *at, uint64_t key)
{
	static const uint8_t no_id[DATA_BUILD_ID_MAX];
	const struct stored_place *stored =
		r->names ? stored_find(&r->stored, at->in, at->kernel, at->offset) : NULL;
	struct location *p = malloc(sizeof(*p));

	if (!p)
		return NULL;
	*p = *at;
	p->function = location_state(p->ip);
	p->object = stored ? stored->in->object : p->in;
	p->address = p->offset;
	if (!p->object && p->kernel)
		p->object = image_object(&r->image, "[kernel]", no_id, 0);
	if (p->kernel && !p->object) {
		free(p);
		return NULL;
	}
	if (!stored)
		return location_keep(r, p, key) < 0 ? NULL : p;
	return r->names & RECORDING_INLINED ? locations_add_all(r, p, stored, key)
					    : locations_add_whole(r, p, stored, key);
}

/* The mapping at @ip. A forked thread has the name of its parent until it has its own. */
static const struct image_map *location_map(
	struct recording *r, const struct recorded_thread *t, uint64_t ip)
{
	const struct image_map *m = image_find(&r->image, t->pid, ip);
	const char *comm;
	uint32_t from = 0;

	if (m || !ip)
		return m;
	m = image_find_forked(&r->image, t->pid, ip, &from);
	comm = m && !image_comm(&r->image, t->pid, t->tid) ? image_comm(&r->image, from, from)
							   : NULL;
	if (comm)
		(void)image_name_thread(&r->image, t->tid, comm);
	return m;
}

/* Code that a process has made has addresses instead of offsets, where its names are stored or will
 * be. */
static int location_find_made(
	struct recording *r, const struct recorded_thread *t, struct location *at)
{
	const unsigned life = image_life(&r->image, t->pid);
	const bool places = r->names & RECORDING_PLACES;
	struct object *made = places ? image_made(&r->image, t->pid, life)
				     : image_find_made(&r->image, t->pid, life);

	if (places && !made)
		return -ENOMEM;
	if (made && (places || stored_find(&r->stored, made, false, at->ip))) {
		at->in = made;
		at->offset = at->ip;
	}
	return 0;
}

const struct location *locations_find(
	struct recording *r, const struct recorded_thread *t, uint64_t ip, bool kernel)
{
	const struct image_map *m = kernel ? NULL : location_map(r, t, ip);
	struct location at = {.ip = ip, .offset = ip, .kernel = kernel};
	const struct location *known;
	uint64_t key;

	if (m) {
		at.in = m->object;
		at.offset = ip - m->addr + m->pgoff;
	}
	if (m && object_is_made(m->object) && location_find_made(r, t, &at) < 0)
		return NULL;
	key = hash_pair(at.offset, at.in ? at.in->number + 1ULL : 0);
	known = locations_known(r, &at, key);
	return known ? known : locations_add(r, &at, key);
}

static void locations_free_all(struct recording *r)
{
	for (size_t i = 0; i < r->locations.nbuckets; i++)
		for (struct hash_node *n = r->locations.bucket[i], *next; n; n = next) {
			struct location *p = container_of(n, struct location, node);

			next = n->next;
			free(p->label);
			free(p);
		}
	hash_free(&r->locations);
	free(r->by_number);
}

static void locations_free_demangled(struct recording *r)
{
	for (size_t i = 0; i < r->demangled.nbuckets; i++)
		for (struct hash_node *n = r->demangled.bucket[i], *next; n; n = next) {
			struct demangled_name *d = container_of(n, struct demangled_name, node);

			next = n->next;
			free(d->name);
			free(d);
		}
	hash_free(&r->demangled);
}

int locations_init(struct recording *r)
{
	return hash_init(&r->locations) < 0 || hash_init(&r->demangled) < 0 ? -ENOMEM : 0;
}

void locations_free(struct recording *r)
{
	locations_free_demangled(r);
	locations_free_all(r);
}

const char *location_function(const struct location *p, char room[LOCATION_ROOM])
{
	if (p->function)
		return p->function;
	if (!p->address)
		return "[unknown]";
	snprintf(room, LOCATION_ROOM, "0x%" PRIx64, p->address);
	return room;
}

const char *location_name(const struct location *p, char room[LOCATION_ROOM])
{
	return p->label ? p->label : location_function(p, room);
}

const char *location_object(const struct location *p)
{
	const char *slash;

	if (!p->object)
		return "[unknown]";
	slash = strrchr(p->object->path, '/');
	return slash && slash[1] ? slash + 1 : p->object->path;
}
