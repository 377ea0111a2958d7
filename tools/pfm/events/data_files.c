// SPDX-License-Identifier: MIT
#include "tools/pfm/events/data_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/own_build.h"

enum { DATA_FILE_MAX = 4 << 20 };

const char *data_files_directories(void)
{
	static const char ours[] = "/etc/perfmonfs/events:";
	static char list[sizeof(ours) + PATH_MAX];
	const char *named = secure_getenv("PFM_EVENTS");
	char dir[PATH_MAX];

	if (named && *named)
		return named;
	if (!own_build_find("/tools/pfm/pfm", "/tools/pfm/events", dir))
		snprintf(dir, sizeof(dir), EVENTS_DIR);
	snprintf(list, sizeof(list), "%s%s", ours, dir);
	return list;
}

static int data_fail(const char *path, struct err *e)
{
	return err_set(e, errno, "%.200s: %s", path, err_name(errno));
}

/* Reads up to @n bytes. Returns how many were read. */
static ssize_t data_read_all(int fd, char *p, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = read(fd, p + have, n - have);

		if (got < 0)
			return -1;
		if (!got)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

static int data_file_read(const char *path, char **content, size_t *n, struct err *e)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0)
		return data_fail(path, e);
	if (!S_ISREG(st.st_mode) || st.st_size > DATA_FILE_MAX)
		return err_set(e, EINVAL, "%.200s: not a regular file of at most %d bytes", path,
			DATA_FILE_MAX);
	*content = malloc((size_t)st.st_size + 1);
	if (!*content)
		return err_set(e, ENOMEM, "%.200s: no memory to read it", path);
	got = data_read_all(fd, *content, (size_t)st.st_size);
	if (got < 0)
		return data_fail(path, e);
	*n = (size_t)got;
	return 0;
}

static int data_file_call(const char *dir, const char *file, const char *suffix, data_file_fn *each,
	void *arg, struct err *e)
{
	CLEANUP_FREE char *content = NULL;
	char path[PATH_MAX], name[NAME_MAX + 1];
	size_t n = 0;
	int rc;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return err_set(e, ENAMETOOLONG, "%.200s: ENAMETOOLONG", file);
	snprintf(name, sizeof(name), "%.*s", (int)(strlen(file) - strlen(suffix)), file);
	rc = data_file_read(path, &content, &n, e);
	return rc < 0 ? rc : each(arg, (struct slice){content, n}, path, name, e);
}

static bool data_has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), s = strlen(suffix);

	return n > s && name[0] != '.' && strcmp(name + n - s, suffix) == 0;
}

static int data_dir_each(
	const char *dir, const char *suffix, data_file_fn *each, void *arg, struct err *e)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort), rc = 0;

	if (n < 0)
		return errno == ENOENT ? 0 : data_fail(dir, e);
	for (int i = 0; i < n; i++) {
		if (rc == 0 && data_has_suffix(names[i]->d_name, suffix))
			rc = data_file_call(dir, names[i]->d_name, suffix, each, arg, e);
		free(names[i]);
	}
	free(names);
	return rc;
}

int data_files_each(
	const char *directories, const char *suffix, data_file_fn *each, void *arg, struct err *e)
{
	struct slice rest = slice_of(directories);
	int rc = 0;

	while (rc == 0 && rest.n) {
		struct slice dir = slice_cut(&rest, ':');
		char path[PATH_MAX];

		if (dir.n >= sizeof(path))
			return err_set(e, ENAMETOOLONG, "%.*s: ENAMETOOLONG", SLICE_ARG(dir));
		snprintf(path, sizeof(path), "%.*s", (int)dir.n, dir.p);
		if (dir.n)
			rc = data_dir_each(path, suffix, each, arg, e);
	}
	return rc;
}
