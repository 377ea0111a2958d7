// SPDX-License-Identifier: MIT
/*
 * Finding the mount: PERFMONFS names it, or else it is the first of the type fuse.perfmonfs in
 * /proc/self/mountinfo that root or the caller has mounted: anybody may mount something that calls
 * itself so. It is read in pieces, line by line: this runs in signal handlers, too.
 */
#include "lib/lib_i.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
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
	uid_t owner; /* who has mounted it */
};

/* @options: those of the file system. */
static uid_t owner_of(const char *options)
{
	static const char key[] = "user_id=";
	const char *at = options ? strstr(options, key) : NULL;

	return at ? (uid_t)strtoul(at + sizeof(key) - 1, NULL, 10) : (uid_t)-1;
}

static bool is_perfmonfs(char *line, struct mountpoint *m)
{
	char *type = strstr(line, " - ");
	char *field = line;

	if (!type || strncmp(type + 3, fstype, sizeof(fstype) - 1) != 0 ||
		type[3 + sizeof(fstype) - 1] != ' ')
		return false;
	type += 3;
	lines_word(&type);
	lines_word(&type);
	m->owner = owner_of(lines_word(&type));
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

/* No such table: nothing is mounted that this process could see. Other errors are its own. */
static int open_table(struct lines *l)
{
	if (lines_open(l, mountinfo) == 0)
		return 0;
	return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? fail(ENOSYS) : -1;
}

/* A program with more rights than its caller trusts root alone. */
static bool is_trusted(const struct mountpoint *m)
{
	return m->owner == 0 || (m->owner == geteuid() && !getauxval(AT_SECURE));
}

/* Where the mount of a device is, or the first that is trusted; in the buffer of @l. */
static const char *find_mounted(struct lines *l, const struct device *wanted)
{
	struct mountpoint m;
	bool found = false;

	if (open_table(l) < 0)
		return NULL;
	while (!found && next_mount(l, &m))
		found = (wanted ? same_device(&m.device, wanted) : is_trusted(&m)) &&
			strcmp(m.root, "/") == 0;
	lines_close(l);
	if (!found) {
		fail(ENOSYS);
		return NULL;
	}
	unescape(m.path);
	return m.path;
}

/* @mount may be in the buffer, which takes the whole path: stacks of handlers are small. */
static int open_below(char room[LINES_ROOM], const char *mount, const char *path, int flags)
{
	size_t dir = strlen(mount), size = strlen(path) + 1;

	if (dir + 1 + size > LINES_ROOM)
		return fail(ENAMETOOLONG);
	memmove(room, mount, dir);
	room[dir] = '/';
	memcpy(room + dir + 1, path, size);
	return file_open(room, flags);
}

int mount_open(const char *path, int flags)
{
	const char *mount = secure_getenv("PERFMONFS");
	struct lines l;

	if (!mount || !*mount)
		mount = find_mounted(&l, NULL);
	return mount ? open_below(l.room, mount, path, flags) : -1;
}

int mount_open_on(const struct device *d, const char *path, int flags)
{
	struct lines l;
	const char *mount = find_mounted(&l, d);

	return mount ? open_below(l.room, mount, path, flags) : -1;
}

int mount_check(const struct device *d)
{
	/* The last device that was found to be one; the 1 makes it different from none. */
	static _Atomic uint64_t last;
	uint64_t wanted = ((uint64_t)d->major << 32 | d->minor) << 1 | 1;
	struct mountpoint m;
	struct lines l;
	bool found = false;

	if (atomic_load_explicit(&last, memory_order_relaxed) == wanted)
		return 0;
	if (open_table(&l) < 0)
		return errno == ENOSYS ? fail(EBADF) : -1;
	while (!found && next_mount(&l, &m))
		found = same_device(&m.device, d);
	lines_close(&l);
	if (!found)
		return fail(EBADF);
	atomic_store_explicit(&last, wanted, memory_order_relaxed);
	return 0;
}
