// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/slice.h"

struct cgroup_walk {
	const char *name;
	int (*each)(void *arg, int pid, struct err *e);
	void *arg;
};

/* Where a path is below: a whole path; version 2; the same beside version 1, and the groups that
 * perf uses there. */
static const char *const cgroup_roots[] = {
	"", "/sys/fs/cgroup/", "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/perf_event/"};

/* Any user can make a folder that has a file cgroup.procs. */
static bool cgroup_is(int dir)
{
	struct statfs st;

	return fstatfs(dir, &st) == 0 &&
	       (st.f_type == CGROUP_SUPER_MAGIC || st.f_type == CGROUP2_SUPER_MAGIC) &&
	       faccessat(dir, "cgroup.procs", F_OK, 0) == 0;
}

/* Whether the name has no part that leads to where the name does not say. */
static bool cgroup_is_name(const char *name)
{
	struct slice rest = slice_of(name);

	while (rest.n) {
		struct slice part = slice_cut(&rest, '/');

		if (slice_is(part, ".") || slice_is(part, ".."))
			return false;
	}
	return *name;
}

/* Opens the folder of the group; -1: there is none. */
static int cgroup_open(const char *name)
{
	char path[PATH_MAX];

	for (unsigned i = *name != '/'; i < sizeof(cgroup_roots) / sizeof(cgroup_roots[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s%s", cgroup_roots[i], name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && cgroup_is(fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* Reads the numbers of the processes. One that this PID namespace does not have is 0. */
static int cgroup_read(const struct cgroup_walk *w, int dir, bool below, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(dir, "cgroup.procs", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CLEANUP_FCLOSE FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int rc = 0, pid;

	if (f)
		(void)take_fd(&fd);
	while (f && rc == 0 && fscanf(f, "%d", &pid) == 1)
		rc = pid > 0 ? w->each(w->arg, pid, e) : 0;
	if (f && !ferror(f))
		return rc;
	/* A group below the named one may be removed meanwhile. */
	if (below && (errno == ENOENT || errno == ENODEV))
		return 0;
	return err_set(e, errno,
		"control group %s: cgroup.procs: %s: name a group of whole processes, that you may "
		"read",
		w->name, err_name(errno));
}

/* Walks through the group whose folder is @dir: the named one, or one @below it. */
static int cgroup_walk(const struct cgroup_walk *w, int dir, bool below, struct err *e)
{
	CLEANUP_CLOSEDIR DIR *d = fdopendir(fcntl(dir, F_DUPFD_CLOEXEC, 3));
	int rc = d ? cgroup_read(w, dir, below, e) : err_set(e, errno, "%s", err_name(errno));
	struct dirent *entry;

	while (rc == 0 && (entry = readdir(d))) {
		CLEANUP_CLOSE int next = -1;

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			next = openat(dir, entry->d_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next >= 0)
			rc = cgroup_walk(w, next, true, e);
	}
	return rc;
}

int cgroup_processes(
	const char *name, int (*each)(void *arg, int pid, struct err *e), void *arg, struct err *e)
{
	const struct cgroup_walk w = {name, each, arg};
	CLEANUP_CLOSE int dir = -1;

	if (!cgroup_is_name(name))
		return err_set(e, EINVAL,
			"'%s' names no control group: give its path as /proc/PID/cgroup has "
			"it, without . and .., or -a for the whole machine",
			name);
	dir = cgroup_open(name);
	if (dir >= 0)
		return cgroup_walk(&w, dir, false, e);
	if (strchr(name, ','))
		return err_set(e, ENOENT,
			"there is no control group %s: -G takes one group, with all below it: "
			"measure several one by one",
			name);
	return err_set(e, ENOENT,
		"there is no control group %s: /proc/PID/cgroup names that of a process, and "
		"/sys/fs/cgroup has all",
		name);
}
