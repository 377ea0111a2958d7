// SPDX-License-Identifier: MIT
/* Virtual PMDs: the built-in ones of every PMU, and the files of the ones that descriptions add. */
#include "perfmonfs/pmu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trusted.h"

#define THERMAL_ZONE "/sys/class/thermal/thermal_zone0/temp"

static const struct pmu_virtual virtual_builtin[] = {
	{"clock", PMU_CLOCK, PMU_VIRTUAL_CLOCK, ""},
	{"cputime", PMU_CPUTIME, PMU_VIRTUAL_CPUTIME, ""},
	{"free_memory", PMU_FREE_MEMORY, PMU_VIRTUAL_FREE_MEMORY, ""},
	{"load", PMU_LOAD, PMU_VIRTUAL_LOAD, ""},
	{"temperature", PMU_TEMPERATURE, PMU_VIRTUAL_TEMPERATURE, THERMAL_ZONE},
	{"process", PMU_PROCESS, PMU_VIRTUAL_PROCESS, ""},
	{"elapsed", PMU_ELAPSED, PMU_VIRTUAL_ELAPSED, ""},
	{"thread", PMU_THREAD, PMU_VIRTUAL_THREAD, ""},
};

void pmu_add_virtuals(struct pmu *pmu)
{
	for (unsigned i = 0; i < sizeof(virtual_builtin) / sizeof(virtual_builtin[0]); i++)
		if (!virtual_builtin[i].path[0] || access(virtual_builtin[i].path, R_OK) == 0)
			pmu->virtuals[pmu->nvirtuals++] = virtual_builtin[i];
}

int pmu_find_virtual(const struct pmu *pmu, unsigned num)
{
	for (int i = 0; i < pmu->nvirtuals; i++)
		if (pmu->virtuals[i].num == num)
			return i;
	return -1;
}

bool pmu_virtual_needs_thread(const struct pmu_virtual *v)
{
	return v->kind == PMU_VIRTUAL_CPUTIME || v->kind == PMU_VIRTUAL_PROCESS ||
	       v->kind == PMU_VIRTUAL_THREAD;
}

bool pmu_virtual_is_file(const struct pmu_virtual *v)
{
	return v->kind == PMU_VIRTUAL_TEMPERATURE || v->kind == PMU_VIRTUAL_FILE;
}

bool pmu_virtual_needs_cpu(const struct pmu_virtual *v)
{
	return v->kind == PMU_VIRTUAL_READING;
}

/* The time-stamp counter needs no right, as all programs may read it. */
bool pmu_virtual_counts_kernel(const struct pmu_virtual *v)
{
	return v->kind == PMU_VIRTUAL_READING && v->num != PMU_TSC;
}

/* Checks the open descriptor, because the path may change to another file. */
static int virtual_check_file(int fd, const struct pmu_virtual *v, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(
			e, errno, "%s: cannot access %s: %s", v->name, v->path, err_name(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EPERM, "%s: %s is not a regular file", v->name, v->path);
	if (trusted_check(&st, TRUSTED_ROOT | TRUSTED_SELF, v->path, "its values are sampled", e) <
		0)
		return err_prefix(e, "%s", v->name);
	if (!(st.st_mode & S_IROTH))
		return err_set(e, EPERM,
			"%s: %s must be readable by all users, because its samples are: chmod o+r "
			"it, or name another file",
			v->name, v->path);
	return 0;
}

int pmu_virtual_open(const struct pmu_virtual *v, struct err *e)
{
	/* O_NONBLOCK: opening a FIFO must not block the daemon. */
	CLEANUP_CLOSE int fd =
		open(v->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int rc;

	if (fd < 0)
		return err_set(
			e, errno, "%s: cannot open %s: %s", v->name, v->path, err_name(errno));
	rc = virtual_check_file(fd, v, e);
	return rc < 0 ? rc : take_fd(&fd);
}
