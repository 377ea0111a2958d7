// SPDX-License-Identifier: MIT
/* Descriptions for --pmu: the built-in ones by name, others from files. */
#include "backend/pmu/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/pmu/model.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/trusted.h"

enum { FILE_MAX = 64 * 1024 /* Bytes. */ };

/* Appends the names of all models to @out. */
static void catalog_names(struct text *out)
{
	for (unsigned i = 0; pmu_model_name(i); i++)
		text_printf(out, "%s%s", i ? ", " : "", pmu_model_name(i));
}

/* The description of model @name, with the parameters of its row. */
static int catalog_by_name(const char *name, struct pmu *out, struct err *e)
{
	TEXT_CLEANUP struct text names = {0};
	const struct pmu_model *m;

	for (unsigned i = 0; (m = pmu_model_at(i)); i++) {
		if (strcmp(name, m->name) == 0) {
			int rc = pmu_build(m, &m->features, out, e);

			return rc < 0 ? rc : pmu_validate(out, e);
		}
	}
	catalog_names(&names);
	return err_set(e, ENODEV,
		"there is no PMU description '%.40s': choose one of %s; the name of a file must "
		"contain a slash",
		name, text_ok(&names) ? names.p : "perfmonfs --help");
}

/* Checks the open descriptor, because the path may change to another file. */
static int catalog_check_owner(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "cannot access %s: %s", path, err_name(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EPERM, "%s is not a regular file", path);
	if (trusted_check(&st, TRUSTED_ROOT | TRUSTED_SELF, path,
		    "it decides which registers are written", e) < 0)
		return -e->no;
	if (st.st_size > FILE_MAX)
		return err_set(e, EFBIG, "%s is over the limit of %d bytes", path, FILE_MAX);
	return 0;
}

/* Opens the files of virtual PMDs, so that mistakes in their paths are found at start. */
static int catalog_check_virtuals(const struct pmu *pmu, struct err *e)
{
	for (unsigned i = 0; i < pmu->nvirtuals; i++) {
		CLEANUP_CLOSE int fd = -1;

		if (pmu->virtuals[i].kind != PMU_VIRTUAL_FILE)
			continue;
		fd = pmu_virtual_open(&pmu->virtuals[i], e);
		if (fd < 0)
			return fd;
	}
	return 0;
}

static int catalog_load_file(const char *path, struct pmu *out, struct err *e)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	CLEANUP_FREE char *buf = malloc(FILE_MAX);
	size_t n = 0;
	ssize_t got;
	int rc;

	if (fd < 0)
		return err_set(
			e, errno, "cannot open the PMU description %s: %s", path, err_name(errno));
	if (!buf)
		return err_set(e, ENOMEM, "no memory to read %s", path);
	rc = catalog_check_owner(fd, path, e);
	if (rc < 0)
		return rc;
	while (n < FILE_MAX && (got = read(fd, buf + n, FILE_MAX - n)) != 0) {
		if (got < 0)
			return err_set(e, errno, "cannot read %s: %s", path, err_name(errno));
		n += (size_t)got;
	}
	rc = pmu_parse((struct slice){buf, n}, out, e);
	if (rc == 0)
		rc = catalog_check_virtuals(out, e);
	return rc < 0 ? err_prefix(e, "%s", path) : 0;
}

int pmu_load(const char *name_or_file, struct pmu *out, struct err *e)
{
	if (strchr(name_or_file, '/'))
		return catalog_load_file(name_or_file, out, e);
	return catalog_by_name(name_or_file, out, e);
}
