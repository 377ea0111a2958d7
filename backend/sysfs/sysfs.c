// SPDX-License-Identifier: MIT
/* Reading one-line files and CPU lists. */
#include "backend/sysfs/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"

int sysfs_read(const char *path, struct sysfs_line *line)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct slice rest;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, line->text, sizeof(line->text));
	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(line->text))
		return -E2BIG;
	rest = (struct slice){line->text, (size_t)n};
	line->n = slice_cut(&rest, '\n').n;
	return 0;
}

/* Removes the first element, "first-last" or "first", from the list. */
static bool sysfs_list_next(struct slice *list, uint64_t *first, uint64_t *last)
{
	struct slice range = slice_cut(list, ',');
	struct slice from = slice_cut(&range, '-');
	struct err ignored;

	if (num_max(from, INT_MAX, first, &ignored) < 0)
		return false;
	*last = *first;
	return !range.n || (num_max(range, INT_MAX, last, &ignored) == 0 && *first <= *last);
}

bool cpulist_has(struct slice list, unsigned cpu)
{
	uint64_t first, last;

	while (sysfs_list_next(&list, &first, &last))
		if (first <= cpu && cpu <= last)
			return true;
	return false;
}

bool cpulist_first(struct slice list, unsigned *cpu)
{
	uint64_t first, last;

	if (!sysfs_list_next(&list, &first, &last))
		return false;
	*cpu = (unsigned)first;
	return true;
}

unsigned cpulist_limit(struct slice list)
{
	uint64_t first, last;
	unsigned limit = 0;

	while (sysfs_list_next(&list, &first, &last))
		if (last >= limit)
			limit = (unsigned)last + 1;
	return limit;
}

int sysfs_cpu_limit(unsigned *limit, struct err *e)
{
	static const char path[] = "/sys/devices/system/cpu/possible";
	struct sysfs_line line;
	int rc = sysfs_read(path, &line);

	if (rc < 0)
		return err_set(e, -rc, "cannot read %s: %s: is sysfs mounted on /sys?", path,
			err_name(-rc));
	*limit = cpulist_limit((struct slice){line.text, line.n});
	if (!*limit)
		return err_set(e, EINVAL, "%s: '%.*s' is not a list of CPUs", path,
			line.n < 40 ? (int)line.n : 40, line.text);
	return 0;
}

static struct slice sysfs_cpus_online(struct sysfs_line *line)
{
	if (sysfs_read("/sys/devices/system/cpu/online", line) < 0)
		line->n = 0;
	return (struct slice){line->text, line->n};
}

bool sysfs_cpu_online(unsigned cpu)
{
	struct sysfs_line line;

	return cpulist_has(sysfs_cpus_online(&line), cpu);
}

unsigned sysfs_cpu_first(void)
{
	struct sysfs_line line;
	unsigned cpu;

	return cpulist_first(sysfs_cpus_online(&line), &cpu) ? cpu : 0;
}
