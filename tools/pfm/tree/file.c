// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/text/names.h"

enum { FILE_PIECE = 16384, FILE_MAX = 16 << 20 };

/* Errors of the mount itself, which the daemon cannot report. */
static int file_mount_error(const char *path, int no, struct err *e)
{
	switch (no) {
	case ENOTCONN:
	case ECONNABORTED:
		return err_set(e, no, "%s: %s: the daemon has ended: start perfmonfs again", path,
			err_name(no));
	case ENODEV:
		return err_set(e, no,
			"%s: %s: the context is gone: it was removed, or the daemon is ending",
			path, err_name(no));
	default:
		return err_set(e, no, "%s: %s", path, err_name(no));
	}
}

bool file_is_gone(int no)
{
	return no == ENOTCONN || no == ECONNABORTED || no == ENODEV;
}

/* Replaces the name of a file, which users of pfm need not know, by pfm's command for it. */
static int file_daemon_error(struct slice line, int no, struct err *e)
{
	static const char file[] = ": see cpus";
	size_t n = sizeof(file) - 1;

	if (line.n >= n && memcmp(line.p + line.n - n, file, n) == 0)
		return err_set(e, no, "%.*s: see `pfm who`", (int)(line.n - n), line.p);
	return err_set(e, no, "%.*s", (int)line.n, line.p);
}

int file_sentence(int dir, const char *path, int no, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(dir, "last_error", O_RDONLY | O_CLOEXEC);
	char line[sizeof(e->text)];
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	while (n > 0 && line[n - 1] == '\n')
		n--;
	if (n <= 0)
		return file_mount_error(path, no, e);
	line[n] = '\0';
	name_clean(line);
	if (strcmp(line, "ok") == 0 || strncmp(line, "note: ", 6) == 0)
		return file_mount_error(path, no, e);
	return file_daemon_error((struct slice){line, (size_t)n}, no, e);
}

/* Cleans text that may be displayed: a terminal obeys control characters. */
static void file_clean(struct text *t, size_t from)
{
	char *end, *p, kept;

	for (size_t i = from; i < t->n; i++)
		if (!t->p[i])
			t->p[i] = '?';
	for (p = from < t->n ? t->p + from : NULL; p && *p; p = kept ? end + 1 : end) {
		end = p + strcspn(p, "\n\t");
		kept = *end;
		*end = '\0';
		name_clean(p);
		*end = kept;
	}
}

int file_read(int dir, const char *path, struct text *t, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	char piece[FILE_PIECE];
	ssize_t n = fd < 0 ? -1 : FILE_PIECE;
	size_t from = t->n;

	/* A short read is the last one: that saves the request for the end of the file. */
	while (n == FILE_PIECE && t->n - from < FILE_MAX) {
		n = read(fd, piece, sizeof(piece));
		if (n > 0)
			text_append(t, piece, (size_t)n);
	}
	if (n < 0)
		return file_sentence(dir, path, errno, e);
	if (n == FILE_PIECE)
		return err_set(e, EFBIG, "%s: more than %d bytes", path, FILE_MAX);
	file_clean(t, from);
	return text_ok(t) ? 0 : err_set(e, ENOMEM, "no memory for %s", path);
}

int file_read_line(int dir, const char *path, char *line, size_t room, struct err *e)
{
	TEXT_CLEANUP struct text t = {0};
	int rc = file_read(dir, path, &t, e);

	if (rc < 0)
		return rc;
	snprintf(line, room, "%s", t.p ? t.p : "");
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

int file_read_u64(int dir, const char *path, uint64_t *v, struct err *e)
{
	char line[64];
	int rc = file_read_line(dir, path, line, sizeof(line), e);

	return rc < 0 ? rc : num_u64(slice_of(line), v, e);
}

int file_write(int dir, const char *path, const char *text, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	ssize_t n = -1;

	/* EINTR: the daemon has not started the command. Attaching to this thread, or detaching
	 * from it, also interrupts the wait. */
	while (fd >= 0 && (n = write(fd, text, strlen(text))) < 0 && errno == EINTR)
		;
	return n < 0 ? file_sentence(dir, path, errno, e) : 0;
}

int file_writef(int dir, const char *path, struct err *e, const char *fmt, ...)
{
	char line[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof(line))
		return err_set(e, E2BIG, "%s: the command is too long", path);
	return file_write(dir, path, line, e);
}
