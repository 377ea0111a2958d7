// SPDX-License-Identifier: MIT
/*
 * Formats that are shared objects run as root: what is loaded is what root alone could have put
 * there. Once every component of the directory has been found to be so, nobody else can change
 * what a name in it means, so that dlopen() by name opens what was looked at.
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

/* Access control lists that let others write show in the group's bits. */
static int check_owner(int fd, const char *what, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "%s: %s", what, err_name(errno));
	if (st.st_uid != 0)
		return err_set(e, EPERM,
			"%s belongs to user %u: formats run as root, chown it to root", what,
			(unsigned)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(e, EPERM,
			"%s can be written by others than root: formats run as root, chmod go-w it",
			what);
	return 0;
}

/* @path is the name so far. */
static int open_component(int dir, const char *name, const char *path, struct err *e)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return err_set(e, errno, "%s: %s", path, err_name(errno));
	if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
		close(fd);
		return err_set(e, ELOOP,
			"%s is a symbolic link: name the directory of formats without any", path);
	}
	if (check_owner(fd, path, e) < 0) {
		close(fd);
		return -e->no;
	}
	return fd;
}

static int open_path(const char *dir, struct err *e)
{
	CLEANUP_FREE char *path = strdup(dir);
	CLEANUP_CLOSE int fd = -1;
	char *at = path;

	if (!path)
		return err_set(e, ENOMEM, "no memory");
	if (*path != '/')
		return err_set(e, EINVAL,
			"'%.40s': name the directory of formats by its whole path, from / on", dir);
	fd = open_component(AT_FDCWD, "/", "/", e);
	while (fd >= 0 && *(at += strspn(at, "/"))) {
		size_t n = strcspn(at, "/");
		char end = at[n], *name;
		int next;

		at[n] = '\0'; /* path is now the name so far, at its last component */
		name = at;
		next = open_component(fd, name, path, e);
		at[n] = end;
		at += n;
		close(fd);
		fd = next;
	}
	return fd < 0 ? fd : take_fd(&fd);
}

static int open_dir(const char *dir, struct err *e)
{
	CLEANUP_CLOSE int path = open_path(dir, e);
	int fd;

	if (path < 0)
		return -e->no;
	fd = openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_set(e, errno, "%s: %s", dir, err_name(errno)) : fd;
}

static int check_file(int dir_fd, const char *name, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "it cannot be opened: %s", err_name(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "it is not a regular file: copy the format there");
	return check_owner(fd, "it", e);
}

/* dlerror() may be long, and names the file, which the caller does too. */
static int dl_refused(struct err *e)
{
	const char *text = dlerror();

	return err_set(e, ENOEXEC, "%s", text ? text : "it cannot be loaded");
}

int format_load_file(int dir_fd, const char *dir, const char *name, struct err *e)
{
	CLEANUP_FREE char *path = NULL;
	const pfm_buffer_fmt_t *fmt;
	void *so;

	if (check_file(dir_fd, name, e) < 0)
		return -e->no;
	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return err_set(e, ENOMEM, "no memory");
	}
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return dl_refused(e);
	fmt = dlsym(so, "perfmonfs_format");
	if (!fmt)
		err_set(e, ENOEXEC, "it exports no perfmonfs_format: see perfmonfs/format.h");
	if (!fmt || format_register(fmt, e) < 0) {
		dlclose(so);
		return -e->no;
	}
	return 0; /* never unloaded: contexts use it */
}

static int is_shared_object(const struct dirent *de)
{
	size_t n = strlen(de->d_name);

	return de->d_name[0] != '.' && n > 3 && strcmp(de->d_name + n - 3, ".so") == 0;
}

/* Not alphasort(): which of two formats of one name is first must not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int formats_load(const char *dir, struct err *e)
{
	CLEANUP_CLOSE int fd = open_dir(dir, e);
	struct dirent **names;
	int n;

	if (fd < 0)
		return e->no == ENOENT ? 0 : -e->no;
	n = scandirat(fd, ".", &names, is_shared_object, by_name);
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
