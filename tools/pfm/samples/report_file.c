// SPDX-License-Identifier: MIT
/* Where outputs go. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/pfm/samples/reports.h"
#include "tools/pfm/text/output.h"

/* Closes the output. An earlier write may have failed, which the last one does not report. */
static int report_close(FILE *out, const char *path, struct err *e)
{
	bool failed = ferror(out);

	if (fclose(out) != 0)
		return err_set(e, errno, "cannot write all of %s: %s: name another file", path,
			err_name(errno));
	if (failed)
		return err_set(e, EIO, "cannot write all of %s: is its disk full?", path);
	return 0;
}

int report_to(const char *path, int (*write)(const void *of, FILE *out, struct err *e),
	const void *of, struct err *e)
{
	static const struct output_how how = {.mode = 0666, .spare = DATA_MAGIC};
	int fd, rc;
	FILE *out;

	if (strcmp(path, "-") == 0)
		return write(of, stdout, e);
	fd = output_open(path, &how, e);
	if (fd < 0)
		return fd;
	out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		return err_set(e, ENOMEM, "no memory");
	}
	rc = write(of, out, e);
	return report_close(out, path, e) < 0 ? -e->no : rc;
}
