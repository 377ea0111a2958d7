// SPDX-License-Identifier: MIT
/*
 * The variable PERFMONFS names the mount. Without it, the library uses the first mount of type
 * fuse.perfmonfs in /proc/self/mountinfo that belongs to root or to the caller, since any user can
 * mount a file system of that type. The table is read line by line, because signal handlers have
 * little stack.
 */
#include "lib/lib_i.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "lib/debug.h"
#include "lib/lines.h"

static const char mountinfo[] = "/proc/self/mountinfo", fstype[] = "fuse.perfmonfs";

/* A line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS */
struct mountpoint {
	struct device device;
	char *root;
	char *path;
	uid_t owner; /* user_id= option of the mount */
};

/* The owner according to the file system's options; -1 if there is none. */
static uid_t mount_owner(const char *options)
{
	static const char key[] = "user_id=";
	const char *at = options ? strstr(options, key) : NULL;

	return at ? (uid_t)strtoul(at + sizeof(key) - 1, NULL, 10) : (uid_t)-1;
}

static bool mount_parse(char *line, struct mountpoint *m)
{
	char *type = strstr(line, " - ");
	char *field = line;

	if (!type || strncmp(type + 3, fstype, sizeof(fstype) - 1) != 0 ||
		type[3 + sizeof(fstype) - 1] != ' ')
		return false;
	type += 3;
	lines_word(&type);
	lines_word(&type);
	m->owner = mount_owner(lines_word(&type));
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

static bool mount_same_device(const struct device *a, const struct device *b)
{
	return a->major == b->major && a->minor == b->minor;
}

/* Resolves \040 and the like, which stand for blanks, tabs, newlines and backslashes. */
static void mount_unescape(char *s)
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

/* Gets the next mount of perfmonfs. Returns false at the end. */
static bool mount_next(struct lines *l, struct mountpoint *m)
{
	char *line;

	while ((line = lines_next(l)) != NULL)
		if (mount_parse(line, m))
			return true;
	return false;
}

/* Opens the mount table. ENOSYS if the process cannot see it, and thus no mount. Other errors are
 * passed on. */
static int mount_open_table(struct lines *l)
{
	if (lines_open(l, mountinfo) == 0)
		return 0;
	return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? lib_fail(ENOSYS) : -1;
}

/* Whether the program trusts @m. A set-user-ID program trusts only root's mounts. */
static bool mount_is_trusted(const struct mountpoint *m)
{
	return m->owner == 0 || (m->owner == geteuid() && !getauxval(AT_SECURE));
}

/*
 * The path of the mount whose device is @wanted; if @wanted is NULL, of the first trusted mount.
 * The path is in the buffer of @l. NULL with errno: ENOSYS if there is none.
 */
static const char *mount_find(struct lines *l, const struct device *wanted)
{
	struct mountpoint m;
	bool found = false;

	if (mount_open_table(l) < 0)
		return NULL;
	while (!found && mount_next(l, &m))
		found = (wanted ? mount_same_device(&m.device, wanted) : mount_is_trusted(&m)) &&
			strcmp(m.root, "/") == 0;
	lines_close(l);
	if (!found) {
		lib_fail(ENOSYS);
		return NULL;
	}
	mount_unescape(m.path);
	return m.path;
}

/* Builds the path in @room, which may contain @mount already, because the stack of a signal handler
 * may be small. */
static int mount_open_below(char room[LINES_ROOM], const char *mount, const char *path, int flags)
{
	size_t dir = strlen(mount), size = strlen(path) + 1;

	if (dir + 1 + size > LINES_ROOM)
		return lib_fail(ENAMETOOLONG);
	memmove(room, mount, dir);
	room[dir] = '/';
	memcpy(room + dir + 1, path, size);
	return nocancel_open(room, flags);
}

/* Reports which of several mounts is used: the first one in the order of the table. */
void mount_tell_choice(void)
{
	const char *mount = secure_getenv("PERFMONFS");
	struct debug_line line;
	struct mountpoint m;
	struct lines l;
	int n = 0;

	if ((mount && *mount) || mount_open_table(&l) < 0)
		return;
	while (mount_next(&l, &m)) {
		if (!mount_is_trusted(&m) || strcmp(m.root, "/") != 0)
			continue;
		mount_unescape(m.path);
		debug_begin(&line, n++ ? "not taken is the mount" : "taken is the first mount");
		debug_add(&line, m.path);
		debug_add(&line, "; PERFMONFS names another");
		debug_end(&line);
	}
	lines_close(&l);
}

int mount_open(const char *path, int flags)
{
	const char *mount = secure_getenv("PERFMONFS");
	struct lines l;

	if (!mount || !*mount)
		mount = mount_find(&l, NULL);
	return mount ? mount_open_below(l.room, mount, path, flags) : -1;
}

int mount_open_lines(struct lines *l, const char *path)
{
	lines_begin(l, mount_open(path, O_RDONLY | O_CLOEXEC));
	return l->fd < 0 ? -1 : 0;
}

int mount_open_on(const struct device *d, const char *path, int flags)
{
	struct lines l;
	const char *mount = mount_find(&l, d);

	return mount ? mount_open_below(l.room, mount, path, flags) : -1;
}

int mount_check(const struct device *d)
{
	/* The last device that passed the check, times 2 plus 1, so that no device equals 0. */
	static _Atomic uint64_t last;
	uint64_t wanted = ((uint64_t)d->major << 32 | d->minor) << 1 | 1;
	struct mountpoint m;
	struct lines l;
	bool found = false;

	if (atomic_load_explicit(&last, memory_order_relaxed) == wanted)
		return 0;
	if (mount_open_table(&l) < 0)
		return errno == ENOSYS ? lib_fail(EBADF) : -1;
	while (!found && mount_next(&l, &m))
		found = mount_same_device(&m.device, d);
	lines_close(&l);
	if (!found)
		return lib_fail(EBADF);
	atomic_store_explicit(&last, wanted, memory_order_relaxed);
	return 0;
}
