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

static const char kallsyms_path[] = "/proc/kallsyms", kernel_name[] = "[kernel]";

static bool locations_same_boot(const struct recording *r)
{
	struct slice then = recording_info(r, "boot_id");
	CLEANUP_FCLOSE FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	char now[64] = "";

	if (!f || !fgets(now, sizeof(now), f))
		return false;
	now[strcspn(now, "\n")] = '\0';
	return slice_is(then, now);
}

static struct kallsyms *locations_kernel(struct recording *r)
{
	struct err e;

	if (r->kernel_tried || !r->names)
		return r->kernel;
	r->kernel_tried = true;
	if (!locations_same_boot(r)) {
		text_printf(&r->notes, "no names of kernel functions: recorded before the last "
				       "boot, or elsewhere\n");
		return NULL;
	}
	r->kernel = kallsyms_open(kallsyms_path, &e);
	if (!r->kernel)
		text_printf(&r->notes, "no names of kernel functions: %s\n", e.text);
	return r->kernel;
}

/* Objects without a file have names like [vdso] and //anon. */
static bool locations_is_file(const struct object *o)
{
	return o->path[0] == '/' && o->path[1] != '/';
}

static struct symbols *locations_symbols(struct recording *r, struct object *o)
{
	struct err e;

	if (o->opened || !r->names || !locations_is_file(o))
		return o->symbols;
	o->opened = true;
	o->symbols = symbols_open(o, &e);
	if (!o->symbols)
		text_printf(&r->notes, "addresses instead of names: %s\n", e.text);
	return o->symbols;
}

static int location_resolve_kernel(struct recording *r, struct location *p)
{
	struct kallsyms *k = locations_kernel(r);
	const char *module = NULL;
	struct symbol s = {.name = NULL};

	if (k)
		s = kallsyms_find(k, p->ip, &module);
	p->object = image_object(
		&r->image, module ? module : kernel_name, (const uint8_t[DATA_BUILD_ID_MAX]){0}, 0);
	p->function = s.name;
	p->function_offset = s.offset;
	return p->object ? 0 : -ENOMEM;
}

static void location_resolve_user(struct recording *r, struct location *p)
{
	struct symbols *symbols = p->in ? locations_symbols(r, p->in) : NULL;
	struct symbol s;

	if (!symbols)
		return;
	s = symbols_find(symbols, p->offset);
	p->address = s.address;
	p->function = s.name;
	p->function_offset = s.offset;
}

static bool location_is_clean(const struct symbol_line *at)
{
	return (!at->file || name_is_clean(at->file)) && (!at->dir || name_is_clean(at->dir));
}

/* Finds the position of @p in the source, and the functions that are inlined there: @p becomes the
 * innermost of them. Returns the number of functions; @frames has their names and positions. */
static unsigned location_frames(
	struct recording *r, struct location *p, struct symbol_frame frames[SYMBOL_FRAMES])
{
	unsigned n = 1;

	if (!p->in || !p->in->symbols || !(r->names & (RECORDING_INLINED | RECORDING_LINES)))
		return 1;
	n = symbols_frames(p->in->symbols, p->address, frames);
	for (unsigned i = 0; i < n; i++)
		if (!location_is_clean(&frames[i].at))
			frames[i].at = (struct symbol_line){NULL};
	frames[n - 1].name = p->function;
	p->line = frames[0].at;
	if (!(r->names & RECORDING_INLINED))
		return 1;
	p->function = frames[0].name;
	return n;
}

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

	if (p->function && !name_is_clean(p->function))
		p->function = NULL;
	r->nlines += p->line.file != NULL;
	p->number = r->nlocations++;
	hash_add(&r->locations, &p->node, key);
	return rc < 0 ? rc : location_label(r, p);
}

/* A copy of @from, for the function into which it is inlined. NULL: no memory. */
static struct location *location_outer(const struct location *from, const struct symbol_frame *f)
{
	struct location *p = malloc(sizeof(*p));

	if (!p)
		return NULL;
	*p = *from;
	p->function = f->name;
	p->line = f->at;
	p->depth = from->depth + 1;
	p->label = NULL;
	return p;
}

/* Adds a location, its names, and the functions into which it is inlined. NULL: no memory. */
static const struct location *locations_add(
	struct recording *r, const struct location *at, uint64_t key)
{
	struct symbol_frame frames[SYMBOL_FRAMES];
	struct location *p = malloc(sizeof(*p)), *first = p;
	unsigned n;

	if (!p)
		return NULL;
	*p = *at;
	p->object = p->in;
	p->address = p->offset;
	if (p->kernel && location_resolve_kernel(r, p) < 0) {
		free(p);
		return NULL;
	}
	if (!p->kernel)
		location_resolve_user(r, p);
	n = location_frames(r, p, frames);
	for (unsigned i = 1; i < n; i++) {
		struct location *outer = location_outer(p, &frames[i]);

		p->into = outer;
		if (location_keep(r, p, key) < 0 || !outer) {
			free(outer);
			return NULL;
		}
		p = outer;
	}
	return location_keep(r, p, key) < 0 ? NULL : first;
}

/* The mapping at @ip. A forked thread has the name of its parent until it has its own. */
static const struct image_map *location_map(
	struct recording *r, const struct recorded_sample *s, uint64_t ip)
{
	const struct image_map *m = image_find(&r->image, s->pid, ip);
	const char *comm;
	uint32_t from = 0;

	if (m || !ip)
		return m;
	m = image_find_forked(&r->image, s->pid, ip, &from);
	comm = m && !image_comm(&r->image, s->pid, s->tid) ? image_comm(&r->image, from, from)
							   : NULL;
	if (comm)
		(void)image_name_thread(&r->image, s->tid, comm);
	return m;
}

const struct location *locations_find(
	struct recording *r, const struct recorded_sample *s, uint64_t ip, bool kernel)
{
	const struct image_map *m = kernel ? NULL : location_map(r, s, ip);
	struct location at = {.ip = ip, .offset = ip, .kernel = kernel};
	const struct location *known;
	uint64_t key;

	if (m) {
		at.in = m->object;
		at.offset = ip - m->addr + m->pgoff;
	}
	key = at.offset * 31 + (at.in ? at.in->number + 1 : 0);
	known = locations_known(r, &at, key);
	return known ? known : locations_add(r, &at, key);
}

static void locations_close_symbols(struct recording *r)
{
	for (size_t i = 0; i < r->image.objects.nbuckets; i++)
		for (struct hash_node *n = r->image.objects.bucket[i]; n; n = n->next)
			symbols_close(container_of(n, struct object, node)->symbols);
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
	locations_close_symbols(r);
	kallsyms_close(r->kernel);
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
