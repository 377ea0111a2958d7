// SPDX-License-Identifier: MIT
/* Reading one-line files and CPU lists. */
#include "backend/sysfs/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"

/* 0 or -errno; E2BIG if the line does not fit. */
static int sysfs_read(const char *path, char room[SYSFS_LINE], struct slice *line)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, room, SYSFS_LINE);
	struct slice text = {room, n < 0 ? 0 : (size_t)n};

	if (n < 0)
		return -errno;
	if (n == SYSFS_LINE)
		return -E2BIG;
	*line = slice_cut(&text, '\n');
	return 0;
}

struct slice sysfs_line(const char *path, char room[SYSFS_LINE])
{
	struct slice line = {room, 0};

	sysfs_read(path, room, &line);
	return line;
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
	char room[SYSFS_LINE];
	struct slice line;
	int rc = sysfs_read(path, room, &line);

	if (rc < 0)
		return err_set(e, -rc, "cannot read %s: %s: is sysfs mounted on /sys?", path,
			err_name(-rc));
	*limit = cpulist_limit(line);
	if (!*limit)
		return err_set(e, EINVAL, "%s: '%.*s' is not a list of CPUs", path,
			line.n < 40 ? (int)line.n : 40, line.p);
	return 0;
}

static struct slice sysfs_cpus_online(char room[SYSFS_LINE])
{
	return sysfs_line("/sys/devices/system/cpu/online", room);
}

bool sysfs_cpu_online(unsigned cpu)
{
	char room[SYSFS_LINE];

	return cpulist_has(sysfs_cpus_online(room), cpu);
}

unsigned sysfs_cpu_first(void)
{
	char room[SYSFS_LINE];
	unsigned cpu;

	return cpulist_first(sysfs_cpus_online(room), &cpu) ? cpu : 0;
}
