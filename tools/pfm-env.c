// SPDX-License-Identifier: MIT
/*
 * pfm-env runs a program as on a kernel with perfmon2. In a mount namespace of its own, the program
 * finds MNT/sys at /sys/kernel/perfmon. LD_PRELOAD gives it libperfmonfs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/own_build.h"
#include "base/version.h"
#include "tools/pfm/tree/mounts.h"
#include "tools/pfm/tree/namespace.h"

#define LIBRARY "libperfmonfs.so.1"
#define OVER    "/sys/kernel"
#define NAME    "perfmon" /* directory added to OVER */

/* Exit codes of env(1). */
enum { EXIT_USAGE = 125, EXIT_CANNOT = 126, EXIT_NOT_FOUND = 127 };

struct options {
	const char *mount, *library;
	char **command;
};

static const char usage[] =
	"Usage: pfm-env [options] COMMAND [ARG...]\n"
	"Run COMMAND with a perfmonfs mount's sys/ at /sys/kernel/perfmon and libperfmonfs "
	"preloaded.\n"
	"\n"
	"  -m, --mount=MOUNT    the mount (default: PERFMONFS in the environment, or the first "
	"one)\n"
	"  -l, --library=FILE   the library (default: the one installed with pfm-env)\n"
	"  -h, --help           show this help\n"
	"  -V, --version        show the version\n";

static const struct option long_options[] = {
	{"mount", required_argument, NULL, 'm'},
	{"library", required_argument, NULL, 'l'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

/* Returns 1 after it has printed the help or the version. */
static int pfm_parse_options(int argc, char **argv, struct options *o, struct err *e)
{
	int c;

	while ((c = getopt_long(argc, argv, "+m:l:hV", long_options, NULL)) != -1) {
		switch (c) {
		case 'm':
			o->mount = optarg;
			break;
		case 'l':
			o->library = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		case 'V':
			puts("pfm-env " PERFMONFS_VERSION);
			return 1;
		default:
			return err_set(e, EINVAL, "see pfm-env --help");
		}
	}
	o->command = argv + optind;
	return *o->command ? 0 : err_set(e, EINVAL, "give a command; see pfm-env --help");
}

/* Makes @path absolute, because COMMAND may change its directory. */
static int pfm_choose_mount(const struct options *o, char path[PATH_MAX], struct err *e)
{
	const char *named = o->mount ? o->mount : getenv("PERFMONFS");

	if (!named || !*named)
		return mounts_find(path) ? 0
					 : err_set(e, ENOENT,
						   "perfmonfs is not mounted: mount it, or give it "
						   "with -m");
	if (!realpath(named, path))
		return err_set(
			e, errno, "%s: %s: give a perfmonfs mount with -m", named, err_name(errno));
	if (!mounts_serves(path))
		return err_set(e, ENOENT,
			"%s/sys: ENOENT: this is not a perfmonfs mount: give one with -m", path);
	return 0;
}

static bool pfm_find_library(char path[PATH_MAX])
{
	char built[PATH_MAX];

	if (own_build_find("/tools/pfm-env", "/lib/" LIBRARY, built) && realpath(built, path))
		return true;
	return realpath(LIBDIR "/" LIBRARY, path);
}

static int pfm_choose_library(const struct options *o, char path[PATH_MAX], struct err *e)
{
	if (o->library && !realpath(o->library, path))
		return err_set(e, errno, "library %s: %s: see -l", o->library, err_name(errno));
	if (!o->library && !pfm_find_library(path))
		return err_set(e, ENOENT,
			"" LIBDIR "/" LIBRARY " does not exist: install it, or give one with -l");
	if (strpbrk(path, " :"))
		return err_set(e, EINVAL,
			"library %s: LD_PRELOAD cannot have a blank or a colon in a name: copy it "
			"elsewhere",
			path);
	return 0;
}

/* Adds the library at the beginning of LD_PRELOAD. */
static int env_set(const char *mount, const char *library, struct err *e)
{
	CLEANUP_FREE char *list = NULL;
	const char *old = getenv("LD_PRELOAD");
	bool more = old && *old;

	if (asprintf(&list, "%s%s%s", library, more ? ":" : "", more ? old : "") < 0 ||
		setenv("LD_PRELOAD", list, 1) < 0 || setenv("PERFMONFS", mount, 1) < 0)
		return err_set(e, ENOMEM, "no memory");
	return 0;
}

static int pfm_bind(const char *from, const char *to, struct err *e)
{
	/* MS_REC, because a user namespace may not separate a mount from those below it. */
	if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
		return err_set(e, errno, "%s: bind mount of %s: %s", to, from, err_name(errno));
	return 0;
}

/* Copies a symbolic link; binds anything else to a new directory or file. */
static int pfm_copy_entry(int old, const char *name, struct err *e)
{
	char from[64 + NAME_MAX], to[sizeof(OVER "/") + NAME_MAX], target[PATH_MAX];
	ssize_t n = readlinkat(old, name, target, sizeof(target) - 1);
	struct stat st;
	int rc;

	snprintf(from, sizeof(from), "/proc/self/fd/%d/%s", old, name);
	snprintf(to, sizeof(to), OVER "/%s", name);
	if (n >= 0) {
		target[n] = '\0';
		return symlink(target, to) == 0 ? 0
						: err_set(e, errno, "%s: %s", to, err_name(errno));
	}
	if (fstatat(old, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* removed in the meantime */
	rc = S_ISDIR(st.st_mode) ? mkdir(to, 0755) : mknod(to, S_IFREG | 0444, 0);
	if (rc < 0)
		return err_set(e, errno, "%s: %s", to, err_name(errno));
	return pfm_bind(from, to, e);
}

static int pfm_copy_entries(int old, struct err *e)
{
	CLEANUP_CLOSEDIR DIR *dir = fdopendir(dup(old));
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return err_set(e, errno, OVER ": %s", err_name(errno));
	while (rc == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			strcmp(entry->d_name, NAME) != 0)
			rc = pfm_copy_entry(old, entry->d_name, e);
	return rc;
}

/*
 * Mounts a tmpfs over OVER, with the entries of OVER and NAME, since sysfs allows no new directory.
 */
static int pfm_add_sys(const char *mountpoint, struct err *e)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	CLEANUP_CLOSE int old = open(OVER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char from[PATH_MAX + sizeof("/sys")];
	int rc;

	if (old < 0)
		return err_set(e, errno, OVER ": %s: mount sysfs at /sys", err_name(errno));
	if (mount(NAME, OVER, "tmpfs", flags, "mode=0755,size=1m") < 0)
		return err_set(e, errno, OVER ": mount of a tmpfs: %s: be root", err_name(errno));
	rc = pfm_copy_entries(old, e);
	if (rc == 0 && mkdir(OVER "/" NAME, 0755) < 0)
		rc = err_set(e, errno, OVER "/" NAME ": %s", err_name(errno));
	snprintf(from, sizeof(from), "%s/sys", mountpoint);
	if (rc == 0)
		rc = pfm_bind(from, OVER "/" NAME, e);
	/* Read-only, as sysfs is. */
	if (rc == 0 && mount(NULL, OVER, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) < 0)
		rc = err_set(e, errno, OVER ": remount: %s", err_name(errno));
	return rc;
}

static int env_prepare(const struct options *o, struct err *e)
{
	char mountpoint[PATH_MAX], library[PATH_MAX];
	int rc = pfm_choose_mount(o, mountpoint, e);

	if (rc == 0)
		rc = pfm_choose_library(o, library, e);
	if (rc == 0)
		rc = namespace_unshare(e);
	if (rc == 0)
		rc = pfm_add_sys(mountpoint, e);
	return rc ? rc : env_set(mountpoint, library, e);
}

int main(int argc, char **argv)
{
	struct options o = {0};
	struct err e = {0};
	int rc = pfm_parse_options(argc, argv, &o, &e), status = EXIT_CANNOT;

	if (rc > 0)
		return 0;
	if (rc < 0) {
		status = EXIT_USAGE;
	} else if (env_prepare(&o, &e) == 0) {
		execvp(o.command[0], o.command);
		status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT;
		err_set(&e, errno,
			"%s: %s: give a command that can be executed, in PATH or with its path",
			o.command[0], err_name(errno));
	}
	fprintf(stderr, "pfm-env: %s\n", e.text);
	return status;
}
