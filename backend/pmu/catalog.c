// SPDX-License-Identifier: MIT
/* Descriptions for --pmu and for detection: built in, from a directory, and from single files. */
#include "backend/pmu/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/pmu/model.h"
#include "backend/pmu/source.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/trusted.h"

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
	CLEANUP_FREE char *text = NULL;
	struct slice s;
	int rc = source_read(AT_FDCWD, path, true, &text, &s, e);

	if (rc == 0)
		rc = pmu_parse(s, out, e);
	if (rc == 0)
		rc = catalog_check_virtuals(out, e);
	return rc < 0 ? err_prefix(e, "%s", path) : 0;
}

static int catalog_add_file(int dir, const char *name, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	struct pmu pmu;
	struct slice s;
	int rc = source_read(dir, name, true, &text, &s, e);

	if (rc == 0)
		rc = pmu_parse(s, &pmu, e);
	if (rc == 0)
		rc = catalog_check_virtuals(&pmu, e);
	if (rc == 0)
		rc = pmu_models_add(s, e);
	if (rc == 0)
		text = NULL; /* The models own it now. */
	return rc;
}

static int catalog_is_description(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && d->d_name[0] != '.' && strcmp(d->d_name + n - 4, ".pmu") == 0;
}

static int catalog_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int catalog_check_dir(int fd, const char *dir, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "cannot access %s: %s", dir, err_name(errno));
	return trusted_check(&st, TRUSTED_ROOT | TRUSTED_SELF, dir,
		"its files decide which registers are written", e);
}

int pmu_load_dir(const char *dir, struct err *e)
{
	CLEANUP_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names;
	int n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(e, errno, "cannot open %s: %s", dir, err_name(errno));
	if (catalog_check_dir(fd, dir, e) < 0)
		return -e->no;
	n = scandirat(fd, ".", &names, catalog_is_description, catalog_compare);
	if (n < 0)
		return err_set(e, errno, "cannot read %s: %s", dir, err_name(errno));
	for (int i = 0; i < n; i++) {
		struct err why;

		if (catalog_add_file(fd, names[i]->d_name, &why) < 0)
			fprintf(stderr, "perfmonfs: %s/%s is not used: %s\n", dir, names[i]->d_name,
				why.text);
		free(names[i]);
	}
	free(names);
	return 0;
}

int pmu_load(const char *name_or_file, struct pmu *out, struct err *e)
{
	if (strchr(name_or_file, '/'))
		return catalog_load_file(name_or_file, out, e);
	return catalog_by_name(name_or_file, out, e);
}

int pmu_check_file(const char *path, pmu_tell *tell, void *arg, struct err *e)
{
	CLEANUP_FREE char *buf = NULL;
	struct slice text;
	int rc = source_read(AT_FDCWD, path, false, &buf, &text, e);

	return rc < 0 ? rc : (int)pmu_parse_check(text, tell, arg);
}
