// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/mounts.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool mounts_serves(const char *path)
{
	char file[PATH_MAX];

	return snprintf(file, sizeof(file), "%s/sys/version", path) < PATH_MAX &&
	       access(file, R_OK) == 0;
}

static bool mounts_trusted(const struct mntent *m)
{
	const char *owner = hasmntopt(m, "user_id");
	uid_t uid = owner ? (uid_t)strtoul(owner + strlen("user_id="), NULL, 10) : (uid_t)-1;

	return uid == 0 || uid == geteuid();
}

bool mounts_find(char path[PATH_MAX])
{
	FILE *table = setmntent("/proc/self/mounts", "re");
	bool found = false;
	struct mntent *m;

	/* A bind mount may be a part of one. */
	while (table && !found && (m = getmntent(table)))
		found = strcmp(m->mnt_type, "fuse.perfmonfs") == 0 && mounts_trusted(m) &&
			mounts_serves(m->mnt_dir) && realpath(m->mnt_dir, path);
	if (table)
		endmntent(table);
	return found;
}
