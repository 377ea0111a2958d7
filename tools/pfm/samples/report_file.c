// SPDX-License-Identifier: MIT
/* Where outputs go. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/pfm/samples/reports.h"
#include "tools/pfm/text/output.h"

/* An output. Its file is opened for the first bytes that are written: a failure before that leaves
 * an older file as it is. */
struct report_file {
	const char *path;
	mode_t mode;
	int fd;       /* -1: not opened yet */
	bool failed;  /* what is not in an open file yet is dropped */
	struct err e; /* the first error of the file */
};

static int report_open(struct report_file *f)
{
	const struct output_how how = {.mode = f->mode, .spare = DATA_MAGIC};

	if (f->fd < 0 && !f->e.no)
		f->fd = output_open(f->path, &how, &f->e);
	return f->fd;
}

static ssize_t report_write(void *of, const char *p, size_t n)
{
	struct report_file *f = of;
	size_t done = 0;

	if (f->e.no || (f->failed && f->fd < 0) || report_open(f) < 0)
		return 0;
	while (done < n) {
		ssize_t some = write(f->fd, p + done, n - done);

		if (some < 0 && errno != EINTR) {
			err_set(&f->e, errno, "cannot write all of %s: %s: name another file",
				f->path, err_name(errno));
			return 0;
		}
		done += some < 0 ? 0 : (size_t)some;
	}
	return (ssize_t)n;
}

static void report_close(struct report_file *f)
{
	if (f->fd >= 0 && close(f->fd) < 0 && !f->e.no)
		err_set(&f->e, errno, "cannot write all of %s: %s: name another file", f->path,
			err_name(errno));
}

int report_to(const char *path, mode_t mode, int (*write)(const void *of, FILE *out, struct err *e),
	const void *of, struct err *e)
{
	struct report_file f = {.path = path, .mode = mode, .fd = -1};
	FILE *out;
	int rc;

	if (strcmp(path, "-") == 0)
		return write(of, stdout, e);
	out = fopencookie(&f, "w", (cookie_io_functions_t){.write = report_write});
	if (!out)
		return err_set(e, ENOMEM, "no memory");
	rc = write(of, out, e);
	f.failed = rc < 0;
	fclose(out);
	if (rc == 0)
		report_open(&f); /* also if nothing was written */
	report_close(&f);
	return f.e.no ? err_copy(e, &f.e) : rc;
}
