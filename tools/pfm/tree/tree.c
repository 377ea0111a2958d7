// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/mounts.h"
#include "tools/pfm/tree/namespace.h"
#include "tools/pfm/tree/private_daemon.h"

static int tree_open_at(struct tree *t, const char *path, struct err *e)
{
	t->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->dir < 0)
		return err_set(e, errno, "%s: %s: name a mount of perfmonfs, in pfm with --mount",
			path, err_name(errno));
	if (!mounts_is_trusted(t->dir))
		return err_set(e, EPERM,
			"%s: no mount of perfmonfs that is root's or yours: name one, in pfm with "
			"--mount",
			path);
	if (faccessat(t->dir, "sys/version", R_OK, 0) < 0)
		return err_set(e, ENOENT,
			"%s: no mount of perfmonfs that answers: name one, in pfm with --mount",
			path);
	return 0;
}

/* A daemon that finds no msr driver takes two milliseconds to say so. */
static int tree_check_msr(struct err *e)
{
	char path[48];

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", sched_getcpu());
	return access(path, F_OK) < 0 && errno == ENOENT
		       ? err_set(e, ENOENT, "%s: ENOENT: the driver is not loaded: 'modprobe msr'",
				 path)
		       : 0;
}

/*
 * Uses the PMU's own registers if possible, or else the kernel's events, which tree_tell() reports.
 */
static int tree_open_private(struct tree *t, struct err *e)
{
	struct private_daemon d = {.dir = -1};
	int rc = tree_check_msr(&t->reason);

	if (rc == 0)
		rc = private_start(&d, "msr", &t->reason);
	if (rc < 0) {
		t->fallback = true;
		rc = private_start(&d, "perf", e);
	}
	if (rc < 0)
		return err_prefix(e, "perfmonfs is not mounted, and a private daemon cannot count");
	t->dir = d.dir;
	t->daemon = d.pid;
	return 0;
}

/* Starts a daemon with the user's rights. Only the perf backend can count with these. */
static int tree_open_users(struct tree *t, struct err *e)
{
	struct private_daemon d = {.dir = -1};

	if (private_start_user(&d, "perf", e) < 0)
		return err_prefix(
			e, "perfmonfs is not mounted, and a daemon of your own cannot count");
	t->dir = d.dir;
	t->daemon = d.pid;
	t->users = true;
	return 0;
}

static int tree_check_version(struct tree *t, struct err *e)
{
	char line[128];
	int interface = 0, rc = file_read_line(t->dir, "version", line, sizeof(line), e);

	if (rc < 0)
		return rc;
	if (sscanf(line, "perfmonfs %*s interface %d", &interface) != 1 ||
		interface != TREE_INTERFACE)
		return err_set(e, EPROTO,
			"the mount says '%s', and this program needs interface %d: install pfm, "
			"libpfmfs and perfmonfs of one version",
			line, TREE_INTERFACE);
	return 0;
}

static int tree_find(struct tree *t, const char *mount, struct err *e)
{
	if (!mount || !*mount)
		mount = getenv("PERFMONFS");
	if (mount && *mount)
		return tree_open_at(t, mount, e);
	if (mounts_find(t->found))
		return tree_open_at(t, t->found, e);
	return namespace_root_of_machine() ? tree_open_private(t, e) : tree_open_users(t, e);
}

int tree_open(struct tree *t, const char *mount, struct err *e)
{
	int rc;

	*t = (struct tree){.dir = -1};
	rc = tree_find(t, mount, e);
	if (rc == 0)
		rc = tree_check_version(t, e);
	if (rc == 0)
		rc = file_read_line(t->dir, "pmu/backend", t->backend, sizeof(t->backend), e);
	if (rc == 0)
		rc = file_read_line(t->dir, "pmu/name", t->pmu, sizeof(t->pmu), e);
	if (rc < 0)
		tree_close(t);
	return rc;
}

bool tree_surprises(const struct tree *t)
{
	return t->found[0] && strcmp(t->backend, "sim") == 0;
}

void tree_tell(const struct tree *t, const char *command, const char *instead)
{
	if (t->fallback)
		fprintf(stderr, "pfm %s: no hardware events (msr: %s); %s\n", command,
			t->reason.text, instead);
	if (tree_surprises(t))
		fprintf(stderr,
			"pfm %s: %s simulates a PMU: its numbers say nothing about this machine; "
			"unmount it, or name another mount with --mount\n",
			command, t->found);
}

void tree_close(struct tree *t)
{
	if (t->dir >= 0)
		close(t->dir);
	if (t->daemon)
		private_stop(t->daemon);
	t->dir = -1;
	t->daemon = 0;
}
