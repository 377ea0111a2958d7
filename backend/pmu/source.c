// SPDX-License-Identifier: MIT
#include "backend/pmu/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trusted.h"

enum { SOURCE_MAX = 64 * 1024 /* Bytes. */ };

/* Checks the open descriptor, because the path may change to another file. */
static int source_check(int fd, const char *path, bool trusted, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "cannot access %s: %s", path, err_name(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EPERM,
			"%s is not a regular file: give the path of one description", path);
	if (trusted && trusted_check(&st, TRUSTED_ROOT | TRUSTED_SELF, path,
			       "it decides which registers are written", e) < 0)
		return -e->no;
	if (st.st_size > SOURCE_MAX)
		return err_set(e, EFBIG, "%s is over the limit of %d bytes", path, SOURCE_MAX);
	return 0;
}

int source_read(
	int dir, const char *path, bool trusted, char **buf, struct slice *text, struct err *e)
{
	/* O_NONBLOCK: opening a FIFO must not block. */
	CLEANUP_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return err_set(e, errno,
			"cannot open the PMU description %s: %s: give the path of a file that the "
			"daemon may read",
			path, err_name(errno));
	if (source_check(fd, path, trusted, e) < 0)
		return -e->no;
	*buf = malloc(SOURCE_MAX);
	if (!*buf)
		return err_set(e, ENOMEM, "no memory to read %s", path);
	while (n < SOURCE_MAX && (got = read(fd, *buf + n, SOURCE_MAX - n)) != 0) {
		if (got < 0)
			return err_set(e, errno, "cannot read %s: %s", path, err_name(errno));
		n += (size_t)got;
	}
	/* Shrinks the buffer, because a description stays in memory. */
	*buf = realloc(*buf, n + 1);
	*text = (struct slice){*buf, n};
	return 0;
}
