// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

struct cgroup_walk {
	const char *name;
	int (*each)(void *arg, int pid, struct err *e);
	void *arg;
};

/* Where a path is below: a whole path; version 2; the same beside version 1, and the groups that
 * perf uses there. */
static const char *const cgroup_roots[] = {
	"", "/sys/fs/cgroup/", "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/perf_event/"};

/* Opens the folder of the group; -1: there is none. */
static int cgroup_open(const char *name)
{
	char path[PATH_MAX];

	for (unsigned i = *name != '/'; i < sizeof(cgroup_roots) / sizeof(cgroup_roots[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s%s", cgroup_roots[i], name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && faccessat(fd, "cgroup.procs", F_OK, 0) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* Reads the numbers of the processes. One that this PID namespace does not have is 0. */
static int cgroup_read(const struct cgroup_walk *w, int dir, struct err *e)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC), rc = 0, pid;
	CLEANUP_FCLOSE FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	while (f && rc == 0 && fscanf(f, "%d", &pid) == 1)
		rc = pid > 0 ? w->each(w->arg, pid, e) : 0;
	if (!f || ferror(f))
		return err_set(e, errno,
			"control group %s: cgroup.procs: %s: name a group of whole processes, "
			"that you may read",
			w->name, err_name(errno));
	return rc;
}

/* Walks through the group whose folder is @dir. A group below it may be removed meanwhile. */
static int cgroup_walk(const struct cgroup_walk *w, int dir, struct err *e)
{
	CLEANUP_CLOSEDIR DIR *d = fdopendir(fcntl(dir, F_DUPFD_CLOEXEC, 3));
	int rc = d ? cgroup_read(w, dir, e) : err_set(e, errno, "%s", err_name(errno));
	struct dirent *entry;

	while (rc == 0 && (entry = readdir(d))) {
		CLEANUP_CLOSE int below = -1;
		struct err why;

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			below = openat(dir, entry->d_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0)
			rc = cgroup_walk(w, below, &why);
		if (rc < 0)
			rc = rc == -ENODEV || rc == -ENOENT ? 0 : err_copy(e, &why);
	}
	return rc;
}

int cgroup_processes(
	const char *name, int (*each)(void *arg, int pid, struct err *e), void *arg, struct err *e)
{
	const struct cgroup_walk w = {name, each, arg};
	CLEANUP_CLOSE int dir = cgroup_open(name);

	return dir < 0 ? err_set(e, ENOENT,
				 "there is no control group %s: /proc/PID/cgroup names that of a "
				 "process, and /sys/fs/cgroup has all",
				 name)
		       : cgroup_walk(&w, dir, e);
}
