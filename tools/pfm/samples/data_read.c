// SPDX-License-Identifier: MIT
/*
 * Reading of sample files. The file may come from anywhere: each record is checked before it is
 * passed on, so that its strings end and its lengths fit.
 */
#include "tools/pfm/samples/data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Reads to the end: the file may be a pipe. */
static int data_slurp(int fd, char **p, size_t *n)
{
	size_t room = 0;

	*p = NULL;
	*n = 0;
	for (;;) {
		ssize_t got;

		if (*n == room) {
			char *more = realloc(*p, room = room ? room * 2 : 1 << 16);

			if (!more)
				return -ENOMEM;
			*p = more;
		}
		got = read(fd, *p + *n, room - *n);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return 0;
		*n += got > 0 ? (size_t)got : 0;
	}
}

int data_load(struct data_file *f, const char *path, struct err *e)
{
	bool from_stdin = strcmp(path, "-") == 0;
	CLEANUP_CLOSE int fd = from_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	char *p = NULL;
	size_t n = 0;
	int rc;

	*f = (struct data_file){0};
	if (fd < 0 && errno == ENOENT)
		return err_set(e, ENOENT, "there is no %s: pfm record makes it", path);
	rc = fd < 0 ? -errno : data_slurp(fd, &p, &n);
	if (rc < 0) {
		free(p);
		return err_set(e, -rc, "cannot read %s: %s", path, err_name(-rc));
	}
	return data_take(f, p, n, from_stdin ? "stdin" : path, e);
}

static int data_check_head(const struct data_head *h, const char *path, struct err *e)
{
	if (memcmp(h->magic, DATA_MAGIC, sizeof(h->magic)) != 0)
		return err_set(e, EINVAL, "%s is not a file of pfm record", path);
	if (h->order != DATA_ORDER)
		return err_set(e, EINVAL,
			"%s is of a machine with another byte order: report there", path);
	if (h->version != DATA_VERSION)
		return err_set(e, EINVAL, "%s has version %u of the file format, this pfm reads %d",
			path, h->version, DATA_VERSION);
	return 0;
}

int data_take(struct data_file *f, char *p, size_t n, const char *path, struct err *e)
{
	struct data_head head = {{0}};

	*f = (struct data_file){.p = p, .n = n, .at = sizeof(head)};
	if (n >= sizeof(head))
		memcpy(&head, p, sizeof(head));
	if (data_check_head(&head, path, e) < 0)
		data_unload(f);
	else
		return 0;
	return -e->no;
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

/* Where the string of a record of this type begins in its structure; 0: there is none. */
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

/* Whether the record's content fits its @size, which is without the head. */
static bool data_fits(const struct data_rec *rec, size_t size)
{
	const char *body = data_body(rec);
	bool text = rec->type == DATA_INFO || data_string(rec->type);

	if (size < data_smallest(rec->type) || (text && body[size - 1] != '\0'))
		return false;
	if (rec->type == DATA_MAP)
		return data_map_fits((const struct data_map *)body);
	if (rec->type == DATA_SAMPLE)
		return data_sample_fits((const struct data_sample *)body, size);
	return true;
}

static int data_broken(const struct data_file *f, struct err *e)
{
	return err_set(e, EINVAL, "the file is damaged at byte %zu: record it again", f->at);
}

int data_next(struct data_file *f, const struct data_rec **rec, struct err *e)
{
	const struct data_rec *r = (const struct data_rec *)(f->p + f->at);
	size_t left = f->n - f->at;

	if (left < sizeof(*r)) {
		f->cut = left > 0;
		return 0;
	}
	if (r->size < sizeof(*r) || r->size % 8 || r->size > DATA_SIZE_MAX)
		return data_broken(f, e);
	if (r->size > left) {
		f->cut = true;
		return 0;
	}
	if (!data_fits(r, r->size - sizeof(*r)))
		return data_broken(f, e);
	f->at += r->size;
	*rec = r;
	return 1;
}
