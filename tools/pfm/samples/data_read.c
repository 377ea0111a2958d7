// SPDX-License-Identifier: MIT
/* Reads sample files. The file may come from anywhere: each record is checked before it is passed
 * on, so that its strings end and its lengths fit. */
#include "tools/pfm/samples/data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "tools/pfm/samples/indexed.h"

/* What is read at once, in bytes: as much as there is already, but within these limits. */
enum { DATA_READ_MIN = 1 << 16, DATA_READ_MAX = 1 << 23 };

/* The different frames in a file that is being read. */
struct data_chains {
	const struct data_file *f;
	uint64_t *at; /* positions of the stacks that have them, in 8 bytes */
	uint32_t room;
	struct indexed index;
};

/* Reads until @f has @room bytes. Returns 1, or 0 at the end of the file, which may be a pipe. */
static int data_fill(struct data_file *f, int fd, size_t room)
{
	char *more = realloc(f->p, room);

	if (!more)
		return -ENOMEM;
	f->p = more;
	while (f->n < room) {
		ssize_t got = read(fd, f->p + f->n, room - f->n);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return 0;
		f->n += got > 0 ? (size_t)got : 0;
	}
	return 1;
}

static int data_check_head(const struct data_file *f, const char *path, struct err *e)
{
	struct data_head head = {{0}};

	if (f->n >= sizeof(head))
		memcpy(&head, f->p, sizeof(head));
	if (memcmp(head.magic, DATA_MAGIC, sizeof(head.magic)) != 0)
		return err_set(e, EINVAL,
			"%s is not a file of pfm record, which makes one by -o FILE", path);
	if (head.order != DATA_ORDER)
		return err_set(e, EINVAL,
			"%s is of a machine with another byte order: report there", path);
	if (head.version < 1 || head.version > DATA_VERSION)
		return err_set(e, EINVAL,
			"%s has version %u of the file format, and this pfm reads up to version "
			"%d: report with the pfm that recorded it",
			path, head.version, DATA_VERSION);
	return 0;
}

/* Half of the machine's memory: processing a file needs memory, too. */
static size_t data_bytes_max(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2;
}

static const struct data_stack *data_stack_at(const struct data_file *f, uint64_t at)
{
	return data_body((const struct data_rec *)(f->p + 8 * at));
}

static uint64_t data_chain_hash(const struct data_stack *s)
{
	return hash_bytes(data_frames(s), s->nframes * sizeof(uint64_t));
}

static uint64_t data_chain_key(const void *of, uint32_t entry)
{
	const struct data_chains *c = of;

	return data_chain_hash(data_stack_at(c->f, c->at[entry]));
}

/* Sets s->back if an earlier stack has the same frames. @at: the position of the record. */
static int data_share(struct data_chains *c, struct data_stack *s, uint64_t at)
{
	uint64_t key = data_chain_hash(s), *all;

	for (uint32_t i = indexed_first(&c->index, key); i != INDEXED_NONE;
		i = indexed_next(&c->index, i)) {
		const struct data_stack *known = data_stack_at(c->f, c->at[i]);
		uint64_t back = (uint64_t)((const uint64_t *)s - data_frames(known));

		if (back <= UINT32_MAX && known->nframes == s->nframes &&
			memcmp(data_frames(known), data_frames(s), s->nframes * sizeof(*all)) ==
				0) {
			s->back = (uint32_t)back;
			return 0;
		}
	}
	all = indexed_room(c->at, c->index.n, &c->room, sizeof(*all));
	if (!all)
		return -ENOMEM;
	c->at = all;
	all[c->index.n] = at;
	return indexed_add(&c->index, key);
}

/* Moves the record at @from, which has been checked, behind the packed ones. */
static int data_pack(struct data_chains *c, struct data_file *f, size_t from)
{
	struct data_rec *rec = (struct data_rec *)(f->p + f->packed);
	struct data_stack *s = (struct data_stack *)(rec + 1);
	uint32_t size = ((struct data_rec *)(f->p + from))->size;

	memmove(rec, f->p + from, size);
	if (rec->type == DATA_STACK && s->nframes) {
		if (data_share(c, s, f->packed / 8) < 0)
			return -ENOMEM;
		if (s->back)
			rec->size = sizeof(*rec) + sizeof(*s);
	}
	f->named |= rec->type == DATA_OBJECT;
	f->packed += rec->size;
	return 0;
}

/* Checks and packs the whole records that have been read. */
static int data_pack_all(struct data_chains *c, struct data_file *f, struct err *e)
{
	const struct data_rec *rec;
	size_t from = f->at;
	int rc;

	f->packed = f->at;
	while ((rc = data_next(f, &rec, e)) > 0) {
		if (data_pack(c, f, from) < 0)
			return err_set(e, ENOMEM, "no memory for the recording");
		from = f->at;
	}
	memmove(f->p + f->packed, f->p + f->at, f->n - f->at);
	f->n -= f->at - f->packed;
	f->at = f->packed;
	return rc;
}

/* Reads the rest. The file may be endless, so that each part is checked before more is read. */
static int data_read_records(
	struct data_chains *c, struct data_file *f, int fd, const char *path, struct err *e)
{
	size_t part;
	int more;

	do {
		part = f->n < DATA_READ_MIN ? DATA_READ_MIN : f->n;
		part = part > DATA_READ_MAX ? DATA_READ_MAX : part;
		if (f->n + part > data_bytes_max())
			return err_set(e, EFBIG,
				"%s needs more than half of the memory: report on a larger machine",
				path);
		more = data_fill(f, fd, f->n + part);
		if (more < 0)
			return err_set(e, -more, "cannot read %s: %s", path, err_name(-more));
		if (data_pack_all(c, f, e) < 0)
			return err_prefix(e, "%s", path);
	} while (more);
	f->cut = f->at < f->n;
	f->n = f->at;
	return 0;
}

/* Fills @f from @fd, or packs what it has if @fd is -1. */
static int data_fill_records(struct data_file *f, int fd, const char *path, struct err *e)
{
	struct data_chains c = {.f = f};
	int rc;

	indexed_init(&c.index, data_chain_key, &c);
	rc = fd < 0 ? data_pack_all(&c, f, e) : data_read_records(&c, f, fd, path, e);
	indexed_free(&c.index);
	free(c.at);
	f->at = sizeof(struct data_head);
	return rc;
}

static int data_read_all(struct data_file *f, int fd, const char *path, struct err *e)
{
	int rc = data_fill(f, fd, sizeof(struct data_head));

	if (rc < 0)
		return err_set(e, -rc, "cannot read %s: %s", path, err_name(-rc));
	if (data_check_head(f, path, e) < 0)
		return -e->no;
	return data_fill_records(f, fd, path, e);
}

int data_reread(const struct data_writer *w, struct data_file *f, struct err *e)
{
	off_t end = lseek(w->copy >= 0 ? w->copy : w->fd, 0, SEEK_CUR);
	CLEANUP_CLOSE int fd = -1;
	char link[40];
	int rc;

	*f = (struct data_file){.at = sizeof(struct data_head)};
	snprintf(link, sizeof(link), "/proc/self/fd/%d", w->copy >= 0 ? w->copy : w->fd);
	if (end < (off_t)w->written)
		return err_set(
			e, EFBIG, "%s is a pipe, and too much was written to keep a copy", w->path);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || lseek(fd, end - (off_t)w->written, SEEK_SET) < 0)
		return err_set(e, errno, "cannot read %s again: %s", w->path, err_name(errno));
	rc = data_read_all(f, fd, w->path, e);
	if (rc < 0)
		data_unload(f);
	return rc;
}

int data_load(struct data_file *f, const char *path, struct err *e)
{
	bool from_stdin = strcmp(path, "-") == 0;
	CLEANUP_CLOSE int fd = from_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	*f = (struct data_file){.at = sizeof(struct data_head)};
	if (fd < 0 && errno == ENOENT)
		return err_set(e, ENOENT, "there is no %s: pfm record makes it", path);
	if (fd < 0)
		return err_set(e, errno, "cannot read %s: %s", path, err_name(errno));
	if (data_read_all(f, fd, from_stdin ? "stdin" : path, e) == 0)
		return 0;
	data_unload(f);
	return -e->no;
}

int data_take(struct data_file *f, char *p, size_t n, const char *path, struct err *e)
{
	*f = (struct data_file){.p = p, .n = n, .at = sizeof(struct data_head)};
	if (data_check_head(f, path, e) == 0 && data_fill_records(f, -1, path, e) == 0)
		return 0;
	data_unload(f);
	return -e->no;
}

int data_append(struct data_file *f, int fd, struct err *e)
{
	off_t end = lseek(fd, 0, SEEK_END);
	int rc = end < 0 ? -errno : 0;

	f->at = sizeof(struct data_head);
	if (end >= (off_t)sizeof(struct data_head)) {
		(void)lseek(fd, sizeof(struct data_head), SEEK_SET);
		rc = data_fill(f, fd, f->n + (size_t)end - sizeof(struct data_head));
	}
	return rc < 0 ? err_set(e, -rc, "cannot read the names: %s", err_name(-rc)) : 0;
}

/* Gives the whole pages within @n bytes back to the kernel. */
static void data_drop(char *p, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = -(uintptr_t)p % page;

	if (n > skip && n - skip >= page)
		(void)madvise(p + skip, (n - skip) / page * page, MADV_DONTNEED);
}

void data_drop_samples(struct data_file *f)
{
	size_t begin = sizeof(struct data_head);

	for (size_t at = begin; at < f->at;) {
		const struct data_rec *rec = (const struct data_rec *)(f->p + at);

		if (rec->type != DATA_SAMPLE && rec->type != DATA_STACK) {
			data_drop(f->p + begin, at - begin);
			begin = at + rec->size;
		}
		at += rec->size;
	}
	data_drop(f->p + begin, f->at - begin);
}

void data_unload(struct data_file *f)
{
	free(f->p);
	*f = (struct data_file){0};
}

const void *data_body(const struct data_rec *rec)
{
	return rec + 1;
}

/* The offset of the string in the structure of this type of record; 0: it has none. */
static size_t data_string(uint32_t type)
{
	switch (type) {
	case DATA_EVENT:
		return offsetof(struct data_event, name);
	case DATA_COMM:
		return offsetof(struct data_comm, name);
	case DATA_MAP:
		return offsetof(struct data_map, name);
	case DATA_LOST:
		return offsetof(struct data_lost, why);
	case DATA_OBJECT:
		return offsetof(struct data_object, name);
	default:
		return 0;
	}
}

static size_t data_smallest(uint32_t type)
{
	switch (type) {
	case DATA_INFO:
		return 1;
	case DATA_SAMPLE:
		return sizeof(struct data_sample);
	case DATA_END:
		return sizeof(struct data_end);
	case DATA_STACK:
		return sizeof(struct data_stack);
	case DATA_EXIT:
		return sizeof(struct data_exit);
	case DATA_RATE:
		return sizeof(struct data_rate);
	case DATA_STRINGS:
		return sizeof(struct data_strings);
	case DATA_PLACES:
		return sizeof(struct data_places);
	case DATA_CODE:
		return sizeof(struct data_code) + 1;
	default:
		return data_string(type) ? data_string(type) + 1 : 0;
	}
}

static bool data_map_fits(const struct data_map *m)
{
	return m->id_size <= DATA_BUILD_ID_MAX && m->len && m->addr + m->len > m->addr;
}

static bool data_sample_fits(const struct data_sample *s, size_t size)
{
	return s->nframes && s->nframes <= DATA_FRAMES_MAX && s->weight &&
	       size == offsetof(struct data_sample, ip) + s->nframes * sizeof(s->ip[0]);
}

static bool data_stack_fits(struct data_stack *s, size_t size, bool packed)
{
	if (!packed)
		s->back = 0;
	return s->nframes <= DATA_FRAMES_MAX && s->weight &&
	       size == sizeof(*s) + (s->back ? 0 : s->nframes * sizeof(uint64_t));
}

static bool data_strings_fit(const struct data_strings *s, size_t size)
{
	const char *at = (const char *)(s + 1), *end = (const char *)s + size;

	for (uint32_t i = 0; i < s->n; i++) {
		at = memchr(at, '\0', (size_t)(end - at));
		if (!at++)
			return false;
	}
	return true;
}

/* The functions at a byte are in one record, and as few as can be shown. */
static bool data_places_fit(const struct data_places *p, size_t size)
{
	const struct data_place *place = data_places(p);
	uint32_t depth = 0;

	if ((size - sizeof(*p)) / sizeof(*place) != p->n || (size - sizeof(*p)) % sizeof(*place))
		return false;
	for (uint32_t i = 0; i < p->n; i++) {
		depth = place[i].inlined ? depth + 1 : 0;
		if (depth >= DATA_INLINED_MAX)
			return false;
	}
	return depth == 0;
}

/* Disassembling takes time and memory for each byte. */
static bool data_code_fits(const struct data_code *c, size_t size)
{
	return c->size && c->size <= DATA_CODE_MAX && c->size <= size - sizeof(*c) &&
	       !c->reserved && c->address + c->size > c->address && c->offset + c->size > c->offset;
}

/* Whether the record's contents fit in its size. */
static bool data_fits(struct data_rec *rec, bool packed)
{
	size_t size = rec->size - sizeof(*rec);
	char *body = (char *)(rec + 1);
	bool text = rec->type == DATA_INFO || data_string(rec->type);

	if (size < data_smallest(rec->type) || (text && body[size - 1] != '\0'))
		return false;
	if (rec->type == DATA_MAP)
		return data_map_fits((const struct data_map *)body);
	if (rec->type == DATA_SAMPLE)
		return data_sample_fits((const struct data_sample *)body, size);
	if (rec->type == DATA_STACK)
		return data_stack_fits((struct data_stack *)body, size, packed);
	if (rec->type == DATA_OBJECT)
		return ((const struct data_object *)body)->id_size <= DATA_BUILD_ID_MAX;
	if (rec->type == DATA_STRINGS)
		return data_strings_fit((const struct data_strings *)body, size);
	if (rec->type == DATA_CODE)
		return data_code_fits((const struct data_code *)body, size);
	if (rec->type == DATA_PLACES)
		return data_places_fit((const struct data_places *)body, size);
	return true;
}

static int data_broken(const struct data_file *f, struct err *e)
{
	return err_set(e, EINVAL, "the file is damaged at byte %zu: record it again", f->at);
}

int data_next(struct data_file *f, const struct data_rec **rec, struct err *e)
{
	struct data_rec *r = (struct data_rec *)(f->p + f->at);
	size_t left = f->n - f->at;

	if (left < sizeof(*r)) {
		f->cut |= left > 0;
		return 0;
	}
	if (r->size < sizeof(*r) || r->size % 8 || r->size > DATA_SIZE_MAX)
		return data_broken(f, e);
	if (r->size > left) {
		f->cut = true;
		return 0;
	}
	if (!data_fits(r, f->at < f->packed))
		return data_broken(f, e);
	f->at += r->size;
	*rec = r;
	return 1;
}
