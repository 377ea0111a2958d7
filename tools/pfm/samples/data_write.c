// SPDX-License-Identifier: MIT
/* Writes sample files. */
#include "tools/pfm/samples/data.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/pfm/text/output.h"

enum { DATA_BUF = DATA_SIZE_MAX, DATA_COPY_MAX = 1 << 28 };

int data_create(struct data_writer *w, const char *path, struct err *e)
{
	struct data_head head = {.version = DATA_VERSION, .order = DATA_ORDER};
	bool to_stdout = strcmp(path, "-") == 0;

	*w = (struct data_writer){
		.path = to_stdout ? "stdout" : path, .to_stdout = to_stdout, .fd = -1, .copy = -1};
	memcpy(head.magic, DATA_MAGIC, sizeof(head.magic));
	w->buf = malloc(DATA_BUF);
	if (!w->buf)
		return err_set(e, ENOMEM, "no memory");
	memcpy(w->buf, &head, sizeof(head));
	w->n = sizeof(head);
	return 0;
}

int data_create_in(struct data_writer *w, int fd, struct err *e)
{
	if (data_create(w, "names", e) < 0)
		return -e->no;
	w->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return w->fd < 0 ? err_set(e, errno, "no descriptor for names: %s", err_name(errno)) : 0;
}

/* Renames an older file to PATH.old. Devices and pipes are written to instead. */
static int data_keep_old(const char *path, struct err *e)
{
	char old[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (snprintf(old, sizeof(old), "%s.old", path) >= (int)sizeof(old))
		return err_set(e, ENAMETOOLONG, "-o: a path of more than %d bytes", PATH_MAX - 5);
	if (rename(path, old) < 0)
		return err_set(e, errno,
			"cannot keep the older %s as %s.old: %s (choose another with -o FILE)",
			path, path, err_name(errno));
	return 0;
}

static int data_open(struct data_writer *w, struct err *e)
{
	static const struct output_how how = {.mode = 0600};
	struct stat st;
	int fd;

	if (!w->to_stdout && data_keep_old(w->path, e) < 0)
		return -e->no;
	fd = w->to_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
			  : output_open(w->path, &how, e);
	if (fd < 0)
		return w->to_stdout ? err_set(e, errno, "cannot write stdout: %s", err_name(errno))
				    : fd;
	w->fd = fd;
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		w->copy = memfd_create("recording", MFD_CLOEXEC);
	return 0;
}

static int data_sentence(const struct data_writer *w, struct err *e)
{
	return err_set(e, w->failed, "cannot write %s: %s; what was recorded before is there",
		w->path, w->failed == ENOSPC ? "the disk is full (ENOSPC)" : err_name(w->failed));
}

/* The size of the records in the buffer that end within its first @done bytes. */
static size_t data_whole(const struct data_writer *w, size_t done)
{
	size_t at = w->written == 0 ? sizeof(struct data_head) : 0;
	struct data_rec rec;

	if (done < at)
		return 0;
	for (; done - at >= sizeof(rec); at += rec.size) {
		memcpy(&rec, w->buf + at, sizeof(rec));
		if (rec.size > done - at)
			break;
	}
	return at;
}

/*
 * Handles a failure to write after the first @done bytes of the buffer. An incomplete record would
 * hide that the file has ended. It is cut off, relative to the end of the last write, as the file
 * may be appended to. A pipe stays as it is.
 */
static int data_fail(struct data_writer *w, size_t done, int no, struct err *e)
{
	size_t whole = data_whole(w, done);
	off_t end = lseek(w->fd, (off_t)whole - (off_t)done, SEEK_CUR);

	w->failed = no;
	w->n = 0;
	if (done > whole && end >= 0 && ftruncate(w->fd, end) < 0)
		return err_set(e, no,
			"cannot write %s: %s, nor cut off what is left of a record: %s", w->path,
			err_name(no), err_name(errno));
	return data_sentence(w, e);
}

/* Adds the buffer to the copy. A copy that is not whole is given up. */
static void data_keep_copy(struct data_writer *w)
{
	if (w->copy < 0 || (w->written + w->n <= DATA_COPY_MAX &&
				   write(w->copy, w->buf, w->n) == (ssize_t)w->n))
		return;
	close(w->copy);
	w->copy = -1;
}

int data_flush(struct data_writer *w, struct err *e)
{
	size_t done = 0;

	if (w->failed)
		return data_sentence(w, e);
	if (w->fd < 0 && data_open(w, e) < 0)
		return -e->no;
	while (done < w->n) {
		ssize_t n = write(w->fd, w->buf + done, w->n - done);

		if (n < 0 && errno != EINTR)
			return data_fail(w, done, errno, e);
		done += n > 0 ? (size_t)n : 0;
	}
	data_keep_copy(w);
	w->written += w->n;
	w->n = 0;
	return 0;
}

int data_put(struct data_writer *w, enum data_type type, const void *fixed, size_t n,
	const char *text, struct err *e)
{
	size_t length = text ? strlen(text) + 1 : 0;
	size_t size = (sizeof(struct data_rec) + n + length + 7) / 8 * 8;
	struct data_rec rec = {.type = type, .size = (uint32_t)size};
	char *at;

	if (size > DATA_SIZE_MAX)
		return err_set(e, E2BIG, "a record of more than %d bytes", DATA_SIZE_MAX);
	if ((w->failed || w->n + size > DATA_BUF) && data_flush(w, e) < 0)
		return -e->no;
	at = w->buf + w->n;
	memset(at, 0, size);
	memcpy(at, &rec, sizeof(rec));
	if (n)
		memcpy(at + sizeof(rec), fixed, n);
	if (text)
		memcpy(at + sizeof(rec) + n, text, length);
	w->n += size;
	return 0;
}

int data_put_records(struct data_writer *w, const char *records, size_t n, struct err *e)
{
	struct data_rec rec;

	for (size_t at = 0; at < n; at += rec.size) {
		memcpy(&rec, records + at, sizeof(rec));
		if (data_put(w, (enum data_type)rec.type, records + at + sizeof(rec),
			    rec.size - sizeof(rec), NULL, e) < 0)
			return -e->no;
	}
	return 0;
}

int data_copy(struct data_writer *w, int fd, struct err *e)
{
	struct data_file f = {.at = sizeof(struct data_head)};
	const struct data_rec *rec;
	int rc = data_append(&f, fd, e);

	f.at = 0;
	while (rc == 0 && (rc = data_next(&f, &rec, e)) > 0)
		rc = data_put(w, (enum data_type)rec->type, data_body(rec),
			rec->size - sizeof(*rec), NULL, e);
	data_unload(&f);
	return rc;
}

int data_close(struct data_writer *w, struct err *e)
{
	int rc = 0;

	if (w->fd >= 0)
		rc = data_flush(w, e);
	if (w->fd >= 0 && close(w->fd) < 0 && rc == 0)
		rc = err_set(e, errno, "cannot write %s: %s", w->path, err_name(errno));
	if (w->copy >= 0)
		close(w->copy);
	free(w->buf);
	w->buf = NULL;
	w->fd = w->copy = -1;
	return rc;
}
