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
	FIND_DUMP_PLACES = 1 << 16,  /* functions of a process that become mappings */
	FIND_DUMP_SAMPLES = 1 << 24, /* addresses of a process's samples */
};

/* Addresses in the samples of a process. */
struct find_ips {
	uint64_t *all;
	uint32_t n, room;
};

/* A function that has samples. */
struct find_mapping {
	const struct jit_place *place;
	uint64_t size;
	bool alone; /* no other one with samples was ever there */
};

static int find_dumps_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for the functions that processes have made");
}

/* --- Files */

/* Reads what is there now: the process may go on writing. */
static int find_dump_read(struct find_dump *d, struct err *e)
{
	struct stat st;
	size_t size, at = 0;
	ssize_t n = 1;
	char *p;

	if (fstat(d->object->fd, &st) < 0)
		return err_set(e, errno, "it cannot be read: %s", err_name(errno));
	size = st.st_size < FIND_DUMP_MAX ? (size_t)st.st_size : FIND_DUMP_MAX;
	p = malloc(size + 1);
	while (p && at < size && n > 0) {
		n = pread(d->object->fd, p + at, size - at, (off_t)at);
		at += n > 0 ? (size_t)n : 0;
	}
	return p ? jitdump_parse(&d->dump, p, at, e) : find_dumps_no_memory(e);
}

int find_dumps_open(struct find_dumps *dumps, const struct image *live, struct err *e)
{
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
			if (find_dump_read(&all[dumps->n], &all[dumps->n].why) < 0)
				err_prefix(&all[dumps->n].why, "%s", o->path);
			dumps->n++;
		}
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

static int find_ips_add(struct find_ips *ips, uint64_t ip)
{
	uint64_t *all = indexed_room(ips->all, ips->n, &ips->room, sizeof(*all));

	if (!all)
		return -ENOMEM;
	ips->all = all;
	all[ips->n++] = ip;
	return 0;
}

/* The addresses of a sample or a stack of process @pid; @n: their number, 0 for another record. */
static const uint64_t *find_ips_of(const struct data_rec *rec, uint32_t pid, uint32_t *n)
{
	const struct data_sample *s = data_body(rec);

	*n = 0;
	if ((rec->type != DATA_SAMPLE && rec->type != DATA_STACK) || s->pid != pid)
		return NULL;
	*n = s->nframes;
	return rec->type == DATA_SAMPLE ? s->ip : data_frames(data_body(rec));
}

static int find_ips_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Collects the addresses of process @pid, in their order. */
static int find_ips_collect(struct find_ips *ips, struct data_file *f, uint32_t pid, struct err *e)
{
	const struct data_rec *rec;
	uint32_t n;
	int rc;

	f->at = sizeof(struct data_head);
	while ((rc = data_next(f, &rec, e)) > 0) {
		const uint64_t *frames = find_ips_of(rec, pid, &n);

		for (uint32_t i = 0; i < n && ips->n < FIND_DUMP_SAMPLES; i++)
			if (find_ips_add(ips, frames[i]) < 0)
				return find_dumps_no_memory(e);
	}
	f->at = sizeof(struct data_head);
	if (ips->n)
		qsort(ips->all, ips->n, sizeof(ips->all[0]), find_ips_compare);
	return rc;
}

/* Whether there is an address from @address on, less than @size bytes after it, or at its end: a
 * return address is that of the next instruction. */
static bool find_ips_has(const struct find_ips *ips, uint64_t address, uint64_t size)
{
	uint32_t low = 0, high = ips->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ips->all[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ips->n && ips->all[low] - address <= size;
}

/* --- Mappings */

static int find_mapping_compare(const void *a, const void *b)
{
	const struct find_mapping *x = a, *y = b;

	if (x->place->address != y->place->address)
		return x->place->address < y->place->address ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Finds out which of them, sorted by address, overlap. */
static void find_mappings_mark(struct find_mapping *all, uint32_t n)
{
	struct find_mapping *farthest = all;

	for (uint32_t i = 1; i < n; i++) {
		if (all[i].place->address - farthest->place->address < farthest->size)
			all[i].alone = farthest->alone = false;
		if (all[i].place->address + all[i].size > farthest->place->address + farthest->size)
			farthest = &all[i];
	}
}

/* Writes the mapping of a function. One that is alone there has been there since @begin: many
 * mappings of one moment are looked up faster than those of many moments. */
static int find_mapping_write(const struct find_dump *d, const struct find_mapping *m,
	uint64_t begin, struct data_writer *w, struct err *e)
{
	const struct object *o = d->object;
	struct data_map map = {
		.time = m->alone ? begin : m->place->time,
		.addr = m->place->address,
		.len = m->size,
		.pgoff = d->dump.codes[m->place->code].offset,
		.pid = o->dump_of,
		.id_size = o->id_size,
	};

	memcpy(map.id, o->id, sizeof(map.id));
	return data_put(w, DATA_MAP, &map, offsetof(struct data_map, name), o->path, e);
}

/* Selects the functions that have samples. Returns their number. */
static uint32_t find_mappings_select(
	const struct jitdump *d, const struct find_ips *ips, struct find_mapping *all)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nplaces && n < FIND_DUMP_PLACES; i++) {
		const struct jit_place *place = &d->places[i];
		uint64_t size = d->codes[place->code].size;

		if (place->address + size >= place->address &&
			find_ips_has(ips, place->address, size))
			all[n++] = (struct find_mapping){place, size, true};
	}
	return n;
}

static int find_dump_map(
	const struct find_dump *d, const struct find_ips *ips, struct data_writer *w, struct err *e)
{
	CLEANUP_FREE struct find_mapping *all = calloc(FIND_DUMP_PLACES, sizeof(*all));
	uint64_t begin = UINT64_MAX;
	uint32_t n;
	int rc = 0;

	if (!all)
		return find_dumps_no_memory(e);
	n = find_mappings_select(&d->dump, ips, all);
	qsort(all, n, sizeof(*all), find_mapping_compare);
	find_mappings_mark(all, n);
	for (uint32_t i = 0; i < n; i++)
		begin = all[i].place->time < begin ? all[i].place->time : begin;
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		if (all[i].alone)
			rc = find_mapping_write(d, &all[i], begin, w, e);
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		if (!all[i].alone)
			rc = find_mapping_write(d, &all[i], begin, w, e);
	return rc;
}

static int find_dumps_write(
	struct find_dumps *dumps, struct data_file *f, struct data_writer *w, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < dumps->n; i++) {
		struct find_ips ips = {.n = 0};

		if (!dumps->all[i].why.no)
			rc = find_ips_collect(&ips, f, dumps->all[i].object->dump_of, e);
		if (rc == 0 && ips.n)
			rc = find_dump_map(&dumps->all[i], &ips, w, e);
		free(ips.all);
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
