// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool object_is_made(const struct object *o)
{
	static const char *const names[] = {
		"//anon", "[heap]", "[anon:", "/dev/zero", "/anon_hugepage", "/SYSV"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(o->path, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

bool object_is_dump(const char *path)
{
	const char *name = strrchr(path, '/');
	unsigned pid;
	int end = 0;

	return name && sscanf(name, "/jit-%u.dump%n", &pid, &end) == 1 && end && !name[end];
}

int image_init(struct image *im)
{
	*im = (struct image){.nobjects = 0};
	if (hash_init(&im->processes) == 0 && hash_init(&im->threads) == 0 &&
		hash_init(&im->objects) == 0 && hash_init(&im->files) == 0)
		return 0;
	image_free(im);
	return -ENOMEM;
}

static void image_free_all(struct hash *h, void (*release)(struct hash_node *node))
{
	for (size_t i = 0; i < h->nbuckets; i++)
		for (struct hash_node *n = h->bucket[i], *next; n; n = next) {
			next = n->next;
			release(n);
		}
	hash_free(h);
}

static void image_free_process(struct hash_node *node)
{
	struct image_process *p = container_of(node, struct image_process, node);

	free(p->maps.all);
	free(p->codes.all);
	free(p);
}

static void image_free_thread(struct hash_node *node)
{
	free(container_of(node, struct image_thread, node));
}

static void image_free_object(struct hash_node *node)
{
	struct object *o = container_of(node, struct object, node);

	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o);
}

void image_free(struct image *im)
{
	image_free_all(&im->processes, image_free_process);
	image_free_all(&im->threads, image_free_thread);
	image_free_all(&im->objects, image_free_object);
	hash_free(&im->files);
}

struct image_process *image_known(const struct image *im, uint32_t pid)
{
	struct hash_node *node = hash_find(&im->processes, pid);

	return node ? container_of(node, struct image_process, node) : NULL;
}

struct image_process *image_process(struct image *im, uint32_t pid)
{
	struct image_process *p = image_known(im, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (p)
		hash_add(&im->processes, &p->node, pid);
	return p;
}

static bool image_same_object(const struct object *o, const char *path,
	const uint8_t id[DATA_BUILD_ID_MAX], uint8_t id_size)
{
	return o->id_size == id_size && memcmp(o->id, id, sizeof(o->id)) == 0 &&
	       strcmp(o->path, path) == 0;
}

/* Many files may have one path in turn. */
static uint64_t image_key(const char *path, const uint8_t id[DATA_BUILD_ID_MAX])
{
	return hash_pair(hash_name(path), hash_bytes(id, DATA_BUILD_ID_MAX));
}

struct object *image_find_object(const struct image *im, const char *path,
	const uint8_t id[DATA_BUILD_ID_MAX], uint8_t id_size)
{
	for (struct hash_node *n = hash_find(&im->objects, image_key(path, id)); n;
		n = hash_find_next(n)) {
		struct object *o = container_of(n, struct object, node);

		if (image_same_object(o, path, id, id_size))
			return o;
	}
	return NULL;
}

struct object *image_object(
	struct image *im, const char *path, const uint8_t id[DATA_BUILD_ID_MAX], uint8_t id_size)
{
	struct object *o = image_find_object(im, path, id, id_size);

	if (o)
		return o;
	o = calloc(1, sizeof(*o));
	if (!o || !(o->path = strdup(path))) {
		free(o);
		return NULL;
	}
	memcpy(o->id, id, sizeof(o->id));
	o->id_size = id_size;
	o->fd = -1;
	o->is_dump = object_is_dump(path);
	o->number = im->nobjects++;
	hash_add(&im->objects, &o->node, image_key(path, id));
	return o;
}

static uint64_t image_file_key(const pfm_smpl_file_t *file)
{
	return hash_pair(file->inode, (uint64_t)file->dev_major << 32 | file->dev_minor);
}

void image_set_file(struct image *im, struct object *o, int fd, const pfm_smpl_file_t *file)
{
	o->fd = fd;
	o->file = *file;
	if (file->inode)
		hash_add(&im->files, &o->by_file, image_file_key(file));
}

const struct object *image_find_file(
	const struct image *im, const char *path, const pfm_smpl_file_t *file)
{
	for (struct hash_node *n = file->inode ? hash_find(&im->files, image_file_key(file)) : NULL;
		n; n = hash_find_next(n)) {
		const struct object *o = container_of(n, struct object, by_file);

		if (strcmp(o->path, path) == 0)
			return o;
	}
	return NULL;
}

/* Makes the path and the identity of the code that a process has made. */
static void image_name_made(
	uint32_t pid, unsigned life, char path[40], uint8_t id[DATA_BUILD_ID_MAX])
{
	memset(id, 0, DATA_BUILD_ID_MAX);
	memcpy(id, &pid, sizeof(pid));
	memcpy(id + sizeof(pid), &life, sizeof(life));
	snprintf(path, 40, "/tmp/perf-%u.map", pid);
}

struct object *image_made(struct image *im, uint32_t pid, unsigned life)
{
	uint8_t id[DATA_BUILD_ID_MAX];
	struct object *o;
	char path[40];

	image_name_made(pid, life, path, id);
	o = image_object(im, path, id, 0);
	if (o) {
		o->pid = pid;
		o->life = life;
	}
	return o;
}

struct object *image_find_made(const struct image *im, uint32_t pid, unsigned life)
{
	uint8_t id[DATA_BUILD_ID_MAX];
	char path[40];

	image_name_made(pid, life, path, id);
	return image_find_object(im, path, id, 0);
}

const struct object **image_objects(const struct image *im)
{
	const struct object **all = calloc(im->nobjects + 1U, sizeof(*all));

	for (size_t i = 0; all && i < im->objects.nbuckets; i++)
		for (struct hash_node *n = im->objects.bucket[i]; n; n = n->next) {
			const struct object *o = container_of(n, struct object, node);

			all[o->number] = o;
		}
	return all;
}

void image_exec(struct image *im, uint32_t pid)
{
	struct image_process *p = image_known(im, pid);

	if (p) {
		p->maps.n = p->codes.n = p->codes.sorted = 0;
		p->execs++;
	}
}

/* Programs of 32 bits have another [vdso] than pfm, in the memory that they can address. */
static const char *image_path(const struct data_map *m, const char *name)
{
	return m->addr <= UINT32_MAX && strcmp(name, "[vdso]") == 0 ? "[vdso32]" : name;
}

static int image_append(struct image_maps *maps, struct image_map map)
{
	const struct image_map *last = maps->n ? &maps->all[maps->n - 1] : NULL;
	bool sorted = maps->sorted == maps->n && (!last || map.addr - last->addr >= last->len) &&
		      (!last || map.addr > last->addr);

	if (maps->n == maps->room) {
		size_t room = maps->room ? 2 * maps->room : 16;
		struct image_map *all = realloc(maps->all, room * sizeof(*all));

		if (!all)
			return -ENOMEM;
		maps->all = all;
		maps->room = room;
	}
	maps->all[maps->n++] = map;
	maps->sorted += sorted;
	return 0;
}

/* Drops the mappings that @by covers: a process may map files over and over. */
static void image_drop_covered(struct image_process *p, const struct image_map *by)
{
	size_t n = 0;

	for (size_t i = 0; i < p->maps.n; i++) {
		const struct image_map *m = &p->maps.all[i];
		uint64_t from = m->addr - by->addr;

		if (from <= by->len && m->len <= by->len - from)
			p->files += !object_is_made(m->object);
		else
			p->maps.all[n++] = *m;
	}
	p->maps.n = n;
}

int image_add(struct image *im, const struct data_map *m, const char *name)
{
	struct image_process *p = image_process(im, m->pid);
	struct object *o = image_object(im, image_path(m, name), m->id, m->id_size);
	struct image_map map = {m->addr, m->len, m->pgoff, o};

	if (!p || !o)
		return -ENOMEM;
	if (o->is_dump && !m->pgoff)
		return 0;
	p->makes_code |= object_is_made(o);
	p->changed = ++im->changes;
	if (o->is_dump)
		return image_append(&p->codes, map);
	image_drop_covered(p, &map);
	p->files += !object_is_made(o);
	return image_append(&p->maps, map);
}

static struct image_thread *image_thread(const struct image *im, uint32_t tid)
{
	struct hash_node *node = hash_find(&im->threads, tid);

	return node ? container_of(node, struct image_thread, node) : NULL;
}

static struct image_thread *image_thread_add(struct image *im, uint32_t tid)
{
	struct image_thread *t = image_thread(im, tid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (t)
		hash_add(&im->threads, &t->node, tid);
	return t;
}

int image_name_thread(struct image *im, uint32_t tid, const char *comm)
{
	struct image_thread *t = image_thread_add(im, tid);

	if (!t)
		return -ENOMEM;
	t->comm = comm;
	return 0;
}

int image_exit(struct image *im, uint32_t tid)
{
	struct image_thread *t = image_thread_add(im, tid);

	if (!t)
		return -ENOMEM;
	t->exited = true;
	return 0;
}

void image_live(struct image *im, uint32_t pid, uint32_t tid)
{
	struct image_thread *t = image_thread(im, tid);

	if (!t || !t->exited)
		return;
	t->exited = false;
	t->comm = NULL;
	t->life++;
	if (tid == pid)
		image_exec(im, pid);
}

bool image_has_exited(const struct image *im, uint32_t tid)
{
	const struct image_thread *t = image_thread(im, tid);

	return t && t->exited;
}

unsigned image_open_files(const struct image *im)
{
	unsigned n = 0;

	for (size_t i = 0; i < im->objects.nbuckets; i++)
		for (struct hash_node *node = im->objects.bucket[i]; node; node = node->next)
			n += container_of(node, struct object, node)->fd >= 0;
	return n;
}

unsigned image_life(const struct image *im, uint32_t tid)
{
	const struct image_thread *t = image_thread(im, tid);

	return t ? t->life : 0;
}

const char *image_comm(const struct image *im, uint32_t pid, uint32_t tid)
{
	struct image_thread *t = image_thread(im, tid);

	t = t ? t : image_thread(im, pid);
	return t ? t->comm : NULL;
}

/* Searches the newest mappings from number @first on, as they replace older ones. */
static const struct image_map *image_search_from(
	const struct image_maps *maps, size_t first, uint64_t ip)
{
	for (size_t i = maps->n; i-- > first;)
		if (ip - maps->all[i].addr < maps->all[i].len)
			return &maps->all[i];
	return NULL;
}

/* Searches the functions of a jitdump. */
static const struct image_map *image_search_codes(const struct image_maps *codes, uint64_t ip)
{
	const struct image_map *newest = image_search_from(codes, codes->sorted, ip);
	size_t low = 0, high = codes->sorted;

	while (!newest && low < high) {
		size_t middle = low + (high - low) / 2;

		if (codes->all[middle].addr <= ip)
			low = middle + 1;
		else
			high = middle;
	}
	if (newest || !low || ip - codes->all[low - 1].addr >= codes->all[low - 1].len)
		return newest;
	return &codes->all[low - 1];
}

static const struct image_map *image_search(const struct image_process *p, uint64_t ip)
{
	const struct image_map *map = image_search_from(&p->maps, 0, ip), *code = NULL;

	if (p->codes.n && map && object_is_made(map->object))
		code = image_search_codes(&p->codes, ip);
	return code ? code : map;
}

const struct image_map *image_find(const struct image *im, uint32_t pid, uint64_t ip)
{
	const struct image_process *p = image_known(im, pid);

	return p ? image_search(p, ip) : NULL;
}

uint64_t image_version(const struct image *im, uint32_t pid)
{
	const struct image_process *p = image_known(im, pid);

	return p && p->maps.n ? p->changed : 0;
}

static bool image_agree(const struct image_map *a, const struct image_map *b, uint64_t ip)
{
	return a->object == b->object && ip - a->addr + a->pgoff == ip - b->addr + b->pgoff;
}

const struct image_map *image_find_forked(
	const struct image *im, uint32_t pid, uint64_t ip, uint32_t *from)
{
	const struct image_process *own = image_known(im, pid);
	const struct image_map *found = NULL;

	if (own && own->maps.n)
		return NULL;
	for (size_t i = 0; i < im->processes.nbuckets; i++)
		for (struct hash_node *n = im->processes.bucket[i]; n; n = n->next) {
			const struct image_map *m =
				image_search(container_of(n, struct image_process, node), ip);

			if (!m)
				continue;
			if (found && !image_agree(m, found, ip))
				return NULL;
			found = m;
			*from = (uint32_t)n->key;
		}
	return found;
}
