// SPDX-License-Identifier: MIT
#include "daemon/fs/session/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/slice.h"
#include "daemon/fs/fs.h"

/* Unmounts the mount of a daemon that was killed: every access to it fails with ENOTCONN. */
static int mount_clear_dead(const char *path, struct err *e)
{
	struct statvfs alive;
	struct stat st;
	struct mount_line m;

	/* stat() is not enough: the kernel may still have the root's attributes of a dead mount
	 * cached. */
	if (statvfs(path, &alive) < 0 && errno == ENOTCONN) {
		if (!mount_find(path, &m) || strcmp(m.type, "fuse.perfmonfs") != 0)
			return err_set(e, ENOTCONN,
				"mount point: %s: ENOTCONN: a dead mount of another filesystem is "
				"there: umount -l it",
				path);
		if (umount2(path, MNT_DETACH) < 0)
			return err_set(e, errno,
				"mount point: %s: a dead mount is there and cannot be detached: "
				"%s: umount -l it",
				path, err_name(errno));
	}
	if (stat(path, &st) < 0)
		return err_set(e, errno, "mount point: %s: %s: make the directory first", path,
			err_name(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ENOTDIR,
			"mount point: %s: ENOTDIR: it is not a directory: give one", path);
	return 0;
}

/* mountinfo writes blanks and some other characters as a backslash and three octal digits. */
static void mount_unescape(char *s)
{
	char *to = s;
	unsigned c;

	for (; *s; s++) {
		if (*s == '\\' && strspn(s + 1, "01234567") >= 3 && sscanf(s + 1, "%3o", &c) == 1) {
			*to++ = (char)c;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

bool mount_find(const char *path, struct mount_line *m)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/self/mountinfo", "re");
	CLEANUP_FREE char *line = NULL;
	char at[4096];
	bool found = false;
	size_t room = 0;
	int id;

	while (f && getline(&line, &room, f) >= 0) {
		const char *rest = strstr(line, " - ");

		if (sscanf(line, "%d %*s %*s %*s %4095s", &id, at) != 2)
			continue;
		mount_unescape(at);
		if (strcmp(at, path) != 0)
			continue;
		/* The last line of a path is the mount on top. */
		found = true;
		*m = (struct mount_line){.id = id};
		if (rest)
			sscanf(rest, " - %63s %63s", m->type, m->source);
	}
	return found;
}

static int mount_refuse_second(const char *path, struct err *e)
{
	CLEANUP_FREE char *real = realpath(path, NULL);
	struct mount_line m;

	if (real && mount_find(real, &m) && strcmp(m.type, "fuse.perfmonfs") == 0)
		return err_set(e, EBUSY,
			"mount point: %s: EBUSY: a perfmonfs is mounted there: umount it or give "
			"another directory",
			path);
	return 0;
}

/* A mount hides the directory's contents. -o nonempty allows that, as in fusermount(1). */
static int mount_refuse_full(const char *path, const char *words, struct err *e)
{
	CLEANUP_CLOSEDIR DIR *dir = opendir(path);
	struct slice rest = slice_of(words ? words : "");
	struct dirent *entry;

	while (rest.n)
		if (slice_is(slice_cut(&rest, ','), "nonempty"))
			return 0;
	/* mount(2) reports a directory that does not exist or may not be read. */
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return err_set(e, ENOTEMPTY,
				"mount point: %s: ENOTEMPTY: a mount would hide the files there: "
				"give an empty directory, or -o nonempty",
				path);
	return 0;
}

/* mount(8) passes all options of fstab. Those that mean nothing to the kernel are ignored. */
static int mount_parse_opts(const char *words, unsigned long *flags, struct err *e)
{
	static const char *const mute[] = {"rw", "suid", "dev", "exec", "nosuid", "nodev", "noexec",
		"async", "relatime", "noatime", "nodiratime", "defaults", "auto", "noauto", "user",
		"users", "nofail", "_netdev", "allow_other", "default_permissions", "nonempty"};
	struct slice rest = slice_of(words ? words : "");

	while (rest.n) {
		struct slice word = slice_cut(&rest, ',');
		bool known = !word.n || slice_starts(word, "x-") || slice_starts(word, "comment=");

		for (unsigned i = 0; i < sizeof(mute) / sizeof(mute[0]); i++)
			known = known || slice_is(word, mute[i]);
		if (slice_is(word, "ro"))
			*flags |= MS_RDONLY;
		else if (!known)
			return err_set(e, EINVAL,
				"option '%.*s' of -o: EINVAL: neither perfmonfs nor mount knows "
				"it: see perfmonfs --help",
				SLICE_ARG(word));
	}
	return 0;
}

int fs_check_mount_opts(const char *words, struct err *e)
{
	unsigned long ignored = 0;

	return mount_parse_opts(words, &ignored, e);
}

int mount_fuse(const char *path, const char *words, struct err *e)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	CLEANUP_CLOSE int fd = -1;
	char data[128], source[32];
	int rc = mount_parse_opts(words, &flags, e);

	if (rc == 0)
		rc = mount_clear_dead(path, e);
	if (rc == 0)
		rc = mount_refuse_second(path, e);
	if (rc == 0)
		rc = mount_refuse_full(path, words, e);
	if (rc < 0)
		return rc;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_set(e, errno, "FUSE: /dev/fuse: %s: %s", err_name(errno),
			errno == EACCES || errno == EPERM ? "be root" : "modprobe fuse");
	snprintf(data, sizeof(data),
		"fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other,default_permissions", fd,
		(unsigned)getuid(), (unsigned)getgid());
	snprintf(source, sizeof(source), "perfmonfs-%d", getpid());
	if (mount(source, path, "fuse.perfmonfs", flags, data) < 0)
		return err_set(e, errno, "mount point: %s: mount: %s: %s", path, err_name(errno),
			errno == EPERM ? "root and CAP_SYS_ADMIN are needed"
				       : "give another directory");
	return take_fd(&fd);
}
