// SPDX-License-Identifier: MIT
#include "tools/pfm/text/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { OUTPUT_TRIES = 100, OUTPUT_OPEN = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

static bool output_is_own(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/*
 * Whether only the owner of a file in @dir can have put it there, and that is root or the caller.
 */
static bool output_trusts(int dir, const struct stat *st)
{
	struct stat d;

	return output_is_own(st->st_uid) && fstat(dir, &d) == 0 && output_is_own(d.st_uid) &&
	       (!(d.st_mode & (S_IWGRP | S_IWOTH)) || d.st_mode & S_ISVTX);
}

static int output_fail(const char *path, int no, struct err *e)
{
	return err_set(e, no, "cannot write %s: %s%s", path, err_name(no),
		no == ENXIO ? ": nothing reads it: start its reader first" : ": name another file");
}

/* Makes writes wait for the reader of a full pipe, as usual. */
static int output_take(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

/* Opens /dev/stdout, a FIFO, or the caller's link. The open never waits, as a FIFO's reader may
 * never come. */
static int output_open_special(int dir, const char *name, const struct output_how *how)
{
	CLEANUP_CLOSE int fd = openat(
		dir, name, OUTPUT_OPEN | O_CREAT | (how->append ? O_APPEND : O_TRUNC), how->mode);
	int rc = fd < 0 ? -errno : output_take(fd);

	return rc < 0 ? rc : take_fd(&fd);
}

/* Opens the caller's own file, which has no other name. The owner of another file could read or cut
 * it. */
static int output_open_own(int dir, const char *name, int flags, mode_t mode)
{
	CLEANUP_CLOSE int fd = openat(dir, name, OUTPUT_OPEN | O_NOFOLLOW | flags, mode);
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return -EPERM;
	rc = output_take(fd);
	return rc < 0 ? rc : take_fd(&fd);
}

/* Writes into the file itself, as it cannot be replaced: the caller may not write its directory, or
 * something is mounted on the file. */
static int output_overwrite(int dir, const char *name)
{
	CLEANUP_CLOSE int fd = output_open_own(dir, name, 0, 0);

	if (fd < 0)
		return fd;
	return ftruncate(fd, 0) < 0 ? -errno : take_fd(&fd);
}

static int output_create(int dir, char name[32], mode_t mode)
{
	uint64_t random;
	int fd = -1;

	for (int i = 0; fd < 0 && i < OUTPUT_TRIES; i++) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -errno;
		snprintf(name, 32, ".pfm-%016" PRIx64, random);
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* Replaces a file. The new file gets its name before anything is written, so that no temporary file
 * is left if pfm is killed. */
static int output_replace(int dir, const char *name, mode_t mode)
{
	CLEANUP_CLOSE int fd = -1;
	char new[32];
	int no;

	fd = output_create(dir, new, mode);
	if (fd < 0)
		return fd;
	if (renameat(dir, new, dir, name) == 0)
		return take_fd(&fd);
	no = errno;
	unlinkat(dir, new, 0);
	return -no;
}

static bool output_spares(int dir, const char *name, const char *magic)
{
	CLEANUP_CLOSE int fd =
		openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	char head[OUTPUT_MAGIC];

	return fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) &&
	       memcmp(head, magic, sizeof(head)) == 0;
}

/* Opens the directory of @path; @name is the rest. */
static int output_directory(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];
	int fd;

	*name = slash ? slash + 1 : path;
	if (snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path + 1) : 1,
		    slash ? path : ".") >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!**name)
		return -EISDIR;
	fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int output_open(const char *path, const struct output_how *how, struct err *e)
{
	CLEANUP_CLOSE int dir = -1;
	const char *name;
	struct stat st;
	bool there;
	int fd;

	dir = output_directory(path, &name);
	if (dir < 0)
		return output_fail(path, -dir, e);
	there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (there && how->spare && S_ISREG(st.st_mode) && output_spares(dir, name, how->spare))
		return err_set(
			e, EEXIST, "%s is a recording: name another file for the output", path);
	if (there && !S_ISREG(st.st_mode) && output_trusts(dir, &st))
		fd = output_open_special(dir, name, how);
	else if (how->append)
		fd = output_open_own(dir, name, O_CREAT | O_APPEND, how->mode);
	else
		/* What the caller keeps from others stays so. */
		fd = output_replace(dir, name,
			there && st.st_uid == geteuid() ? how->mode & st.st_mode : how->mode);
	if (there && (fd == -EACCES || fd == -EBUSY))
		fd = output_overwrite(dir, name);
	return fd < 0 ? output_fail(path, -fd, e) : fd;
}

static int output_stat(int dir, const char *name, int flags, struct output_id *id)
{
	struct statx st;

	*id = (struct output_id){0};
	if (statx(dir, name, flags, STATX_INO | STATX_BTIME, &st) < 0)
		return -errno;
	id->device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	id->inode = st.stx_ino;
	if (st.stx_mask & STATX_BTIME)
		id->born = (uint64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
	return 0;
}

void output_identify(int fd, struct output_id *id)
{
	(void)output_stat(fd, "", AT_EMPTY_PATH, id);
}

int output_remove(const char *path, const struct output_id *id)
{
	CLEANUP_CLOSE int dir = -1;
	struct output_id now;
	const char *name;
	int rc;

	dir = output_directory(path, &name);
	if (dir < 0)
		return dir;
	rc = output_stat(dir, name, AT_SYMLINK_NOFOLLOW, &now);
	if (rc < 0)
		return rc;
	if (memcmp(&now, id, sizeof(now)) != 0)
		return -ESTALE;
	return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}
