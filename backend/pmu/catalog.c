// SPDX-License-Identifier: MIT
/* The files of --pmu and the names of the built-in families. */
#include "backend/pmu/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/pmu/families.h"
#include "base/cleanup.h"

enum { FILE_MAX = 64 * 1024 };

static const struct intel_params intel_defaults[] = {
	{.version = 1, .gp = 2, .gp_width = 40},
	{.version = 2, .gp = 2, .gp_width = 40, .fixed = 0x7, .fixed_width = 40},
	{.version = 3, .gp = 4, .gp_width = 48, .fixed = 0x7, .fixed_width = 48},
	{.version = 4, .gp = 4, .gp_width = 48, .fixed = 0x7, .fixed_width = 48, .fw_write = true},
	{.version = 5, .gp = 8, .gp_width = 48, .fixed = 0xf, .fixed_width = 48, .fw_write = true},
};

static void build_amd64_v2(struct pmu *pmu)
{
	amd64_v2_build(AMD_EXT_COUNTERS, pmu);
}

static const struct {
	const char *name;
	void (*build)(struct pmu *pmu);
} others[] = {
	{"p6", p6_build},
	{"amd64", amd64_build},
	{"amd64_ext", amd64_ext_build},
	{"amd64_v2", build_amd64_v2},
};

int pmu_by_name(const char *name, struct pmu *out, struct err *e)
{
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(name, others[i].name) == 0) {
			others[i].build(out);
			return 0;
		}
	}
	for (unsigned i = 0; i < sizeof(intel_defaults) / sizeof(intel_defaults[0]); i++) {
		intel_arch_build(&intel_defaults[i], out);
		if (strcmp(name, out->name) == 0)
			return 0;
	}
	return err_set(e, ENODEV,
		"no PMU description is called '%.40s': there are p6, intel_arch_v1 to "
		"intel_arch_v5, amd64, amd64_ext and amd64_v2; a file's name needs a slash",
		name);
}

/* Asked of the open descriptor: a name may stand for another file a moment later. */
static int check_owner(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "cannot look at %s: %s", path, err_name(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EPERM, "%s is not a regular file", path);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(e, EPERM,
			"%s decides which registers are written: it must be owned by root and "
			"writable by nobody else (chown root, chmod go-w)",
			path);
	if (st.st_size > FILE_MAX)
		return err_set(e, EFBIG, "%s is over the limit of %d bytes", path, FILE_MAX);
	return 0;
}

/* The first one that fails is the administrator's mistake, found before anybody samples it. */
static int check_virtuals(const struct pmu *pmu, struct err *e)
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

static int load_file(const char *path, struct pmu *out, struct err *e)
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
	rc = check_owner(fd, path, e);
	if (rc < 0)
		return rc;
	while (n < FILE_MAX && (got = read(fd, buf + n, FILE_MAX - n)) != 0) {
		if (got < 0)
			return err_set(e, errno, "cannot read %s: %s", path, err_name(errno));
		n += (size_t)got;
	}
	rc = pmu_parse((struct slice){buf, n}, out, e);
	if (rc == 0)
		rc = check_virtuals(out, e);
	return rc < 0 ? err_prefix(e, "%s", path) : 0;
}

int pmu_load(const char *name_or_file, struct pmu *out, struct err *e)
{
	if (strchr(name_or_file, '/'))
		return load_file(name_or_file, out, e);
	return pmu_by_name(name_or_file, out, e);
}
