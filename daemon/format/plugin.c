// SPDX-License-Identifier: MIT
/*
 * Formats that are shared objects run as root, so only root may be able to install them. Each
 * component of the directory's path is checked. After that, no other user can change what a name in
 * it refers to, and dlopen() by name opens the file that was checked.
 */
#include "daemon/format/format.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/trusted.h"

static int format_check_owner(const struct stat *st, const char *what, struct err *e)
{
	return trusted_check(st, TRUSTED_ROOT, what, "formats run as root", e);
}

/* Opens and checks @name in @dir. @path is the path down to @name, for error sentences. */
static int format_open_component(int dir, const char *name, const char *path, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "%s: %s", path, err_name(errno));
	if (S_ISLNK(st.st_mode))
		return err_set(e, ELOOP,
			"%s is a symbolic link: give a path of formats without symbolic links",
			path);
	return format_check_owner(&st, path, e) < 0 ? -e->no : take_fd(&fd);
}

static int format_open_path(const char *dir, struct err *e)
{
	CLEANUP_FREE char *path = strdup(dir);
	CLEANUP_CLOSE int fd = -1;
	char *at = path;

	if (!path)
		return err_set(e, ENOMEM, "no memory");
	if (*path != '/')
		return err_set(e, EINVAL, "the path of formats is not absolute: begin it with '/'");
	fd = format_open_component(AT_FDCWD, "/", "/", e);
	while (fd >= 0 && *(at += strspn(at, "/"))) {
		size_t n = strcspn(at, "/");
		char end = at[n], *name;
		int next;

		at[n] = '\0'; /* path ends with this component */
		name = at;
		next = format_open_component(fd, name, path, e);
		at[n] = end;
		at += n;
		close(fd);
		fd = next;
	}
	return fd < 0 ? fd : take_fd(&fd);
}

static int format_open_dir(const char *dir, struct err *e)
{
	CLEANUP_CLOSE int path = format_open_path(dir, e);
	int fd;

	if (path < 0)
		return -e->no;
	fd = openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_set(e, errno, "%s: %s", dir, err_name(errno)) : fd;
}

static int format_check_file(int dir_fd, const char *name, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "it cannot be opened: %s", err_name(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "it is not a regular file: copy the format itself there");
	return format_check_owner(&st, "it", e);
}

/* dlerror() may begin with the path, which the caller names, too. */
static int format_dlerror(const char *path, struct err *e)
{
	const char *text = dlerror();
	size_t n = strlen(path);

	if (text && strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0)
		text += n + 2;
	return err_set(e, ENOEXEC, "it cannot be loaded: %s", text ? text : "unknown");
}

/* Opens @path, which is @name in the directory @dir_fd that was checked. */
static int plugin_open_in(
	int dir_fd, const char *path, const char *name, struct plugin *out, struct err *e)
{
	if (format_check_file(dir_fd, name, e) < 0)
		return -e->no;
	/* dlopen() would open another file than the one that was checked. */
	if (strchr(path, '$'))
		return err_set(
			e, EINVAL, "the path has a '$', which dlopen() expands: rename the file");
	out->so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!out->so)
		return format_dlerror(path, e);
	out->fmt = dlsym(out->so, "perfmonfs_format");
	if (out->fmt)
		return 0;
	plugin_close(out);
	return err_set(e, ENOEXEC, "it exports no perfmonfs_format: see perfmonfs/format.h");
}

void plugin_close(const struct plugin *p)
{
	dlclose(p->so);
}

int plugin_open(const char *path, struct plugin *out, struct err *e)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	/* With the slash, as in "/". */
	CLEANUP_FREE char *dir = strndup(path, (size_t)(name - path));
	CLEANUP_CLOSE int fd = -1;

	if (!dir)
		return err_set(e, ENOMEM, "no memory");
	fd = format_open_dir(dir, e);
	if (fd < 0)
		return -e->no;
	if (plugin_open_in(fd, path, name, out, e) < 0)
		return err_prefix(e, "%.80s", path);
	return 0;
}

int format_load_file(int dir_fd, const char *dir, const char *name, struct err *e)
{
	CLEANUP_FREE char *path = NULL;
	struct plugin p;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return err_set(e, ENOMEM, "no memory");
	}
	if (plugin_open_in(dir_fd, path, name, &p, e) < 0)
		return -e->no;
	if (format_register(&p, e) == 0)
		return 0;
	plugin_close(&p);
	return -e->no;
}

static int format_is_shared_object(const struct dirent *de)
{
	size_t n = strlen(de->d_name);

	return de->d_name[0] != '.' && n >= 3 && strcmp(de->d_name + n - 3, ".so") == 0;
}

/* Unlike alphasort(), the order does not depend on the locale. The first of two formats with the
 * same name is used. */
static int format_compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int formats_load(const char *dir, struct err *e)
{
	CLEANUP_CLOSE int fd = format_open_dir(dir, e);
	struct dirent **names;
	int n;

	if (fd < 0)
		return e->no == ENOENT ? 0 : -e->no;
	n = scandirat(fd, ".", &names, format_is_shared_object, format_compare_names);
	if (n < 0)
		return err_set(e, errno, "%s: %s", dir, err_name(errno));
	for (int i = 0; i < n; i++) {
		struct err why;

		if (format_load_file(fd, dir, names[i]->d_name, &why) < 0)
			fprintf(stderr, "perfmonfs: format %s/%s is not loaded: %s\n", dir,
				names[i]->d_name, why.text);
		free(names[i]);
	}
	free(names);
	return 0;
}
