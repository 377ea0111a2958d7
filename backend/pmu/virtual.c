// SPDX-License-Identifier: MIT
/* Virtual PMDs: those that every PMU has, and the files of those that descriptions add. */
#include "perfmonfs/pmu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define THERMAL_ZONE "/sys/class/thermal/thermal_zone0/temp"

static const struct pmu_virtual builtin[] = {
	{"clock", PMU_CLOCK, PMU_VIRTUAL_CLOCK, ""},
	{"cputime", PMU_CPUTIME, PMU_VIRTUAL_CPUTIME, ""},
	{"free_memory", PMU_FREE_MEMORY, PMU_VIRTUAL_FREE_MEMORY, ""},
	{"load", PMU_LOAD, PMU_VIRTUAL_LOAD, ""},
	{"temperature", PMU_TEMPERATURE, PMU_VIRTUAL_TEMPERATURE, THERMAL_ZONE},
};

void pmu_add_virtuals(struct pmu *pmu)
{
	for (unsigned i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++)
		if (!builtin[i].path[0] || access(builtin[i].path, R_OK) == 0)
			pmu->virtuals[pmu->nvirtuals++] = builtin[i];
}

int pmu_find_virtual(const struct pmu *pmu, unsigned num)
{
	for (int i = 0; i < pmu->nvirtuals; i++)
		if (pmu->virtuals[i].num == num)
			return i;
	return -1;
}

/* Asked of the open descriptor: a name may stand for another file a moment later. */
static int check_file(int fd, const struct pmu_virtual *v, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(
			e, errno, "%s: cannot look at %s: %s", v->name, v->path, err_name(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EPERM, "%s: %s is not a regular file", v->name, v->path);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(e, EPERM,
			"%s: %s must be owned by root and writable by nobody else (chown root, "
			"chmod go-w)",
			v->name, v->path);
	if (!(st.st_mode & S_IROTH))
		return err_set(e, EPERM,
			"%s: %s must be readable by everybody, as its samples are: chmod o+r it, "
			"or name another",
			v->name, v->path);
	return 0;
}

int pmu_virtual_open(const struct pmu_virtual *v, struct err *e)
{
	/* A FIFO must not keep the daemon waiting until it is found to be none of ours. */
	CLEANUP_CLOSE int fd =
		open(v->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int rc;

	if (fd < 0)
		return err_set(
			e, errno, "%s: cannot open %s: %s", v->name, v->path, err_name(errno));
	rc = check_file(fd, v, e);
	return rc < 0 ? rc : take_fd(&fd);
}
