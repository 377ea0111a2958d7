// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/find_dumps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	FIND_DUMP_MAX = 1 << 28,     /* bytes of a jitdump that are read */
	FIND_DUMPS_MAX = 1 << 29,    /* bytes of all jitdumps */
	FIND_DUMP_PLACES = 1 << 16,  /* functions of a process that become mappings */
	FIND_DUMP_SAMPLES = 1 << 24, /* addresses of samples in all processes with jitdumps */
};

/* An offset that no jitdump has: what is there has no name. */
#define FIND_DUMP_NOWHERE (UINT64_C(1) << 62)

/* A function that has samples. */
struct find_mapping {
	const struct jit_place *place;
	uint64_t size;
	bool alone; /* no other one with samples was ever there, and no sample precedes it */
};

static int find_dumps_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for the functions that processes have made");
}

/* --- Files */

/* Reads what is there now, of which @most bytes: the process may go on writing. */
static int find_dump_read(struct find_dump *d, size_t most, struct err *e)
{
	struct stat st;
	size_t size, at = 0;
	ssize_t n = 1;
	char *p;

	if (fstat(d->object->fd, &st) < 0)
		return err_set(e, errno, "it cannot be read: %s", err_name(errno));
	size = (uint64_t)st.st_size < most ? (size_t)st.st_size : most;
	p = malloc(size + 1);
	while (p && at < size && n > 0) {
		n = pread(d->object->fd, p + at, size - at, (off_t)at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (!p || !(p = realloc(p, at + 1)))
		return find_dumps_no_memory(e);
	if (jitdump_parse(&d->dump, p, at, e) < 0)
		return -e->no;
	if ((uint64_t)st.st_size > most && d->dump.nplaces)
		d->dump.cut = d->dump.places[d->dump.nplaces - 1].time + 1;
	return (int)at;
}

static void find_dump_open(struct find_dumps *dumps, struct find_dump *d)
{
	size_t most = FIND_DUMPS_MAX - dumps->bytes;
	int rc = most ? find_dump_read(d, most < FIND_DUMP_MAX ? most : FIND_DUMP_MAX, &d->why)
		      : err_set(&d->why, E2BIG,
				"the jitdumps of all processes have more than %d MiB: record fewer "
				"of them",
				FIND_DUMPS_MAX >> 20);

	if (rc < 0)
		err_prefix(&d->why, "%s", d->object->path);
	else
		dumps->bytes += (size_t)rc;
}

static int find_dump_compare(const void *a, const void *b)
{
	const struct find_dump *x = a, *y = b;

	if (x->object->dump_of != y->object->dump_of)
		return x->object->dump_of < y->object->dump_of ? -1 : 1;
	return x->object->number < y->object->number ? -1 : 1;
}

int find_dumps_open(struct find_dumps *dumps, const struct image *live, struct err *e)
{
	dumps->cut = UINT64_MAX;
	for (size_t i = 0; i < live->objects.nbuckets; i++)
		for (struct hash_node *n = live->objects.bucket[i]; n; n = n->next) {
			const struct object *o = container_of(n, struct object, node);
			struct find_dump *all;

			if (!o->dump_of || o->fd < 0)
				continue;
			all = indexed_room(dumps->all, dumps->n, &dumps->room, sizeof(*all));
			if (!all)
				return find_dumps_no_memory(e);
			dumps->all = all;
			all[dumps->n] = (struct find_dump){.object = o};
			find_dump_open(dumps, &all[dumps->n++]);
		}
	if (dumps->n)
		qsort(dumps->all, dumps->n, sizeof(*dumps->all), find_dump_compare);
	return 0;
}

const struct jitdump *find_dump(const struct find_dumps *dumps, const struct object *o)
{
	for (uint32_t i = 0; i < dumps->n; i++) {
		const struct object *known = dumps->all[i].object;

		if (known->id_size == o->id_size && strcmp(known->path, o->path) == 0 &&
			memcmp(known->id, o->id, sizeof(o->id)) == 0)
			return &dumps->all[i].dump;
	}
	return NULL;
}

bool find_dump_failure(const struct find_dumps *dumps, uint32_t pid, struct err *why)
{
	for (uint32_t i = 0; i < dumps->n; i++)
		if (dumps->all[i].object->dump_of == pid && dumps->all[i].why.no) {
			*why = dumps->all[i].why;
			return true;
		}
	return false;
}

/* --- Samples */

/* The first jitdump of process @pid; NULL: it has none. */
static struct find_dump *find_dump_of(const struct find_dumps *dumps, uint32_t pid)
{
	uint32_t low = 0, high = dumps->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (dumps->all[middle].object->dump_of < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < dumps->n && dumps->all[low].object->dump_of == pid ? &dumps->all[low] : NULL;
}

static int find_ips_add(struct find_ips *ips, uint64_t ip, uint64_t time)
{
	struct find_ip *all = indexed_room(ips->all, ips->n, &ips->room, sizeof(*all));

	if (!all)
		return -ENOMEM;
	ips->all = all;
	all[ips->n++] = (struct find_ip){ip, time};
	return 0;
}

/* Adds the addresses of a sample or a stack to those of its process, if that has a jitdump. */
static int find_ips_add_record(struct find_dumps *dumps, const struct data_rec *rec)
{
	const struct data_sample *s = data_body(rec);
	const uint64_t *frames = rec->type == DATA_SAMPLE ? s->ip : data_frames(data_body(rec));
	struct find_dump *d = find_dump_of(dumps, s->pid);

	for (uint32_t i = 0; d && i < s->nframes; i++) {
		if (dumps->nips == FIND_DUMP_SAMPLES) {
			dumps->cut = s->time < dumps->cut ? s->time : dumps->cut;
			break;
		}
		if (find_ips_add(&d->ips, frames[i], s->time) < 0)
			return -ENOMEM;
		dumps->nips++;
	}
	return 0;
}

static int find_ips_compare(const void *a, const void *b)
{
	const struct find_ip *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

/* Collects the addresses of processes with jitdumps, in their order. */
static int find_ips_collect(struct find_dumps *dumps, struct data_file *f, struct err *e)
{
	const struct data_rec *rec;
	int rc;

	f->at = sizeof(struct data_head);
	while ((rc = data_next(f, &rec, e)) > 0)
		if ((rec->type == DATA_SAMPLE || rec->type == DATA_STACK) &&
			find_ips_add_record(dumps, rec) < 0)
			rc = find_dumps_no_memory(e);
	f->at = sizeof(struct data_head);
	for (uint32_t i = 0; i < dumps->n; i++)
		if (dumps->all[i].ips.n)
			qsort(dumps->all[i].ips.all, dumps->all[i].ips.n, sizeof(struct find_ip),
				find_ips_compare);
	return rc;
}

/* The number of the first address that is not below @address. */
static uint32_t find_ips_from(const struct find_ips *ips, uint64_t address)
{
	uint32_t low = 0, high = ips->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ips->all[middle].ip < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether there is an address from @address on, less than @size bytes after it, or at its end: a
 * return address is that of the next instruction. */
static bool find_ips_has(const struct find_ips *ips, uint64_t address, uint64_t size)
{
	uint32_t i = find_ips_from(ips, address);

	return i < ips->n && ips->all[i].ip - address <= size;
}

/* Whether one of the @size bytes from @address on was executed before @time. */
static bool find_ips_before(
	const struct find_ips *ips, uint64_t address, uint64_t size, uint64_t time)
{
	for (uint32_t i = find_ips_from(ips, address);
		i < ips->n && ips->all[i].ip - address < size; i++)
		if (ips->all[i].time < time)
			return true;
	return false;
}

/* --- Mappings */

static int find_mapping_compare(const void *a, const void *b)
{
	const struct find_mapping *x = a, *y = b;

	if (x->place->address != y->place->address)
		return x->place->address < y->place->address ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Finds out which of them, sorted by address, overlap, and which have samples of earlier code. */
static void find_mappings_mark(struct find_mapping *all, uint32_t n, const struct find_ips *ips)
{
	struct find_mapping *farthest = all;

	for (uint32_t i = 1; i < n; i++) {
		if (all[i].place->address - farthest->place->address < farthest->size)
			all[i].alone = farthest->alone = false;
		if (all[i].place->address + all[i].size > farthest->place->address + farthest->size)
			farthest = &all[i];
	}
	for (uint32_t i = 0; i < n; i++)
		all[i].alone = all[i].alone && !find_ips_before(ips, all[i].place->address,
						       all[i].size, all[i].place->time);
}

static int find_mapping_put(
	const struct object *o, struct data_map *map, struct data_writer *w, struct err *e)
{
	map->pid = o->dump_of;
	map->id_size = o->id_size;
	memcpy(map->id, o->id, sizeof(map->id));
	return data_put(w, DATA_MAP, map, offsetof(struct data_map, name), o->path, e);
}

/* Writes mappings of functions. One that is alone there has been there since @begin: many mappings
 * of one moment are looked up faster than those of many moments. */
static int find_mappings_put(const struct find_dump *d, const struct find_mapping *all, uint32_t n,
	struct data_writer *w, struct err *e)
{
	uint64_t begin = UINT64_MAX;
	int rc = 0;

	for (uint32_t i = 0; i < n; i++)
		begin = all[i].place->time < begin ? all[i].place->time : begin;
	for (uint32_t i = 0; rc == 0 && i < 2 * n; i++) {
		const struct find_mapping *m = &all[i % n];
		struct data_map map = {
			.time = m->alone ? begin : m->place->time,
			.addr = m->place->address,
			.len = m->size,
			.pgoff = d->dump.codes[m->place->code].offset,
		};

		if (m->alone == (i < n))
			rc = find_mapping_put(d->object, &map, w, e);
	}
	return rc;
}

/* Ends the mappings at the time @cut, from which on others may have been in their place, and notes
 * that. */
static int find_mappings_end(const struct find_dump *d, const struct find_mapping *all, uint32_t n,
	uint64_t cut, struct data_writer *w, struct err *e)
{
	struct data_lost lost = {.time = cut, .count = 1, .kind = DATA_LOST_NAMES};
	struct data_map map = {
		.time = cut, .addr = all[0].place->address, .pgoff = FIND_DUMP_NOWHERE};
	struct err why;

	for (uint32_t i = 0; i < n; i++)
		if (all[i].place->address + all[i].size - map.addr > map.len)
			map.len = all[i].place->address + all[i].size - map.addr;
	(void)err_set(&why, E2BIG,
		"%s has too many functions or samples: later ones have no names: record for a "
		"shorter time",
		d->object->path);
	if (find_mapping_put(d->object, &map, w, e) < 0 ||
		data_put(w, DATA_LOST, &lost, offsetof(struct data_lost, why), why.text, e) < 0)
		return -e->no;
	return 0;
}

/* Selects the functions that have samples and came there before the time @cut, which becomes that
 * of the first one for which there is no room. Returns their number. */
static uint32_t find_mappings_select(const struct jitdump *d, const struct find_ips *ips,
	struct find_mapping *all, uint64_t *cut)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nplaces; i++) {
		const struct jit_place *place = &d->places[i];
		uint64_t size = d->codes[place->code].size;

		if (place->time >= *cut || place->address + size < place->address ||
			!find_ips_has(ips, place->address, size))
			continue;
		if (n == FIND_DUMP_PLACES)
			*cut = place->time;
		else
			all[n++] = (struct find_mapping){place, size, true};
	}
	return n;
}

static int find_dump_map(const struct find_dump *d, const struct find_ips *ips, uint64_t cut,
	struct data_writer *w, struct err *e)
{
	CLEANUP_FREE struct find_mapping *all = calloc(FIND_DUMP_PLACES, sizeof(*all));
	uint32_t n;

	if (!all)
		return find_dumps_no_memory(e);
	cut = d->dump.cut < cut ? d->dump.cut : cut;
	n = find_mappings_select(&d->dump, ips, all, &cut);
	qsort(all, n, sizeof(*all), find_mapping_compare);
	find_mappings_mark(all, n, ips);
	if (find_mappings_put(d, all, n, w, e) < 0)
		return -e->no;
	return n && cut != UINT64_MAX ? find_mappings_end(d, all, n, cut, w, e) : 0;
}

static int find_dumps_write(
	struct find_dumps *dumps, struct data_file *f, struct data_writer *w, struct err *e)
{
	int rc = find_ips_collect(dumps, f, e);

	for (uint32_t i = 0; rc == 0 && i < dumps->n; i++) {
		const struct find_dump *d = &dumps->all[i];
		const struct find_ips *ips = &find_dump_of(dumps, d->object->dump_of)->ips;

		if (!d->why.no && ips->n)
			rc = find_dump_map(d, ips, dumps->cut, w, e);
	}
	for (uint32_t i = 0; i < dumps->n; i++) {
		free(dumps->all[i].ips.all);
		dumps->all[i].ips = (struct find_ips){0};
	}
	return rc;
}

int find_dumps_map(
	struct find_dumps *dumps, struct data_file *f, struct data_writer *w, struct err *e)
{
	CLEANUP_CLOSE int fd = memfd_create("mappings", MFD_CLOEXEC);
	struct data_writer maps;

	if (fd < 0 || data_create_in(&maps, fd, e) < 0)
		return find_dumps_no_memory(e);
	if (find_dumps_write(dumps, f, &maps, e) < 0 || data_close(&maps, e) < 0 ||
		data_append(f, fd, e) < 0 || data_copy(w, fd, e) < 0)
		return -e->no;
	return 0;
}
