// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Settings that forbid users to create a user namespace, or to mount in one. */
static const struct namespace_setting {
	const char *file, *name;
	long forbids, permits;
} namespace_settings[] = {
	{"/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", 0, 10000},
	{"/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0, 1},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		"kernel.apparmor_restrict_unprivileged_userns", 1, 0},
};
enum { NAMESPACE_SETTINGS = sizeof(namespace_settings) / sizeof(namespace_settings[0]) };

static bool namespace_is_forbidden_by(const struct namespace_setting *s)
{
	CLEANUP_FCLOSE FILE *f = fopen(s->file, "re");
	long value;

	return f && fscanf(f, "%ld", &value) == 1 && value == s->forbids;
}

static int namespace_refuse(const char *what, int no, struct err *e)
{
	for (unsigned i = 0; i < NAMESPACE_SETTINGS; i++) {
		const struct namespace_setting *s = &namespace_settings[i];

		if (namespace_is_forbidden_by(s))
			return err_set(e, no,
				"%s: %s: %s is %ld: have root run `sysctl %s=%ld`, or be root",
				what, err_name(no), s->name, s->forbids, s->name, s->permits);
	}
	return err_set(e, no,
		"%s: %s: a seccomp filter (as in containers) or another rule of this machine "
		"forbids it: run it outside the container or as root",
		what, err_name(no));
}

bool namespace_root_of_machine(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned inside, outside, n;

	if (geteuid() != 0 || prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 0)
		return false;
	/* The file does not exist without user namespaces. */
	return !f || (fscanf(f, "%u %u %u", &inside, &outside, &n) == 3 && n == UINT32_MAX);
}

static int namespace_write(const char *path, const char *text, struct err *e)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return namespace_refuse(path, errno, e);
	return 0;
}

/* Maps the user and the group to themselves, so that the daemon sees the same IDs. */
static int namespace_map_ids(uid_t uid, gid_t gid, struct err *e)
{
	char map[32];
	int rc;

	snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
	rc = namespace_write("/proc/self/uid_map", map, e);
	if (rc == 0)
		rc = namespace_write("/proc/self/setgroups", "deny", e);
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
	return rc ? rc : namespace_write("/proc/self/gid_map", map, e);
}

int namespace_unshare(struct err *e)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWNS) < 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return namespace_refuse("user namespace", errno, e);
		if (namespace_map_ids(uid, gid, e) < 0)
			return -e->no;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0)
		return 0;
	if (errno == EINVAL)
		return err_set(e, errno,
			"/ is not a mount point (%s), as in a chroot: before chroot DIR, make it "
			"one with mount --bind DIR DIR",
			err_name(errno));
	return namespace_refuse("mount namespace", errno, e);
}
