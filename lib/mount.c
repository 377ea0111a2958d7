// SPDX-License-Identifier: MIT
/*
 * Finding the mount: PERFMONFS names it, or else it is the first of the type fuse.perfmonfs in
 * /proc/self/mountinfo. That is read in pieces, line by line: this runs in signal handlers, too.
 */
#include "lib/lib_i.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/lines.h"

static const char mountinfo[] = "/proc/self/mountinfo", fstype[] = "fuse.perfmonfs";

int fail(int err)
{
	errno = err;
	return -1;
}

/* A line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS */
struct mountpoint {
	struct device device;
	char *root;
	char *path;
};

static bool is_perfmonfs(char *line, struct mountpoint *m)
{
	char *type = strstr(line, " - ");
	char *field = line;

	if (!type || strncmp(type + 3, fstype, sizeof(fstype) - 1) != 0 ||
		type[3 + sizeof(fstype) - 1] != ' ')
		return false;
	lines_word(&field);
	lines_word(&field);
	char *device = lines_word(&field);
	m->root = lines_word(&field);
	m->path = lines_word(&field);
	if (!m->path)
		return false;
	m->device.major = (unsigned)strtoul(device, &device, 10);
	m->device.minor = *device == ':' ? (unsigned)strtoul(device + 1, NULL, 10) : 0;
	return true;
}

static bool same_device(const struct device *a, const struct device *b)
{
	return a->major == b->major && a->minor == b->minor;
}

/* Blanks, tabs, newlines and backslashes stand there as \040 and the like. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = 0;
}

/* The next mount of ours; false: there is none. */
static bool next_mount(struct lines *l, struct mountpoint *m)
{
	char *line;

	while ((line = lines_next(l)) != NULL)
		if (is_perfmonfs(line, m))
			return true;
	return false;
}

/* The mount of a device, or the first there is (NULL). */
static int find_mounted(const struct device *wanted, char path[PATH_MAX])
{
	struct mountpoint m;
	struct lines l;
	bool found = false;

	if (lines_open(&l, mountinfo) < 0)
		return fail(ENOSYS);
	while (!found && next_mount(&l, &m))
		found = (!wanted || same_device(&m.device, wanted)) && strcmp(m.root, "/") == 0 &&
			strlen(m.path) < PATH_MAX;
	if (found) {
		unescape(m.path);
		strcpy(path, m.path);
	}
	lines_close(&l);
	return found ? 0 : fail(ENOSYS);
}

static int find_mount(char path[PATH_MAX])
{
	const char *named = secure_getenv("PERFMONFS");

	if (!named || !*named)
		return find_mounted(NULL, path);
	if (strlen(named) >= PATH_MAX)
		return fail(ENOSYS);
	strcpy(path, named);
	return 0;
}

static int open_below(const char *mount, const char *path, int flags)
{
	char whole[PATH_MAX + 64];
	size_t dir = strlen(mount), size = strlen(path) + 1;

	if (dir + 1 + size > sizeof(whole))
		return fail(ENAMETOOLONG);
	memcpy(whole, mount, dir);
	whole[dir] = '/';
	memcpy(whole + dir + 1, path, size);
	return open(whole, flags);
}

int mount_open(const char *path, int flags)
{
	char mount[PATH_MAX];

	if (find_mount(mount) < 0)
		return -1;
	return open_below(mount, path, flags);
}

int mount_open_on(const struct device *d, const char *path, int flags)
{
	char mount[PATH_MAX];

	if (find_mounted(d, mount) < 0)
		return -1;
	return open_below(mount, path, flags);
}

bool mount_has_device(const struct device *d)
{
	/* The last device that was found to be one; the 1 makes it different from none. */
	static _Atomic uint64_t last;
	uint64_t wanted = ((uint64_t)d->major << 32 | d->minor) << 1 | 1;
	struct mountpoint m;
	struct lines l;
	bool found = false;

	if (atomic_load_explicit(&last, memory_order_relaxed) == wanted)
		return true;
	if (lines_open(&l, mountinfo) < 0)
		return false;
	while (!found && next_mount(&l, &m))
		found = same_device(&m.device, d);
	lines_close(&l);
	if (found)
		atomic_store_explicit(&last, wanted, memory_order_relaxed);
	return found;
}
