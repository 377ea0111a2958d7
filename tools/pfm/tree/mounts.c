// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/mounts.h"

#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool mounts_trusted(const struct mntent *m)
{
	const char *owner = hasmntopt(m, "user_id");
	uid_t uid = owner ? (uid_t)strtoul(owner + strlen("user_id="), NULL, 10) : (uid_t)-1;

	return uid == 0 || uid == geteuid();
}

/* The number of the mount that @dir is on, without a request to the mount. */
static int mounts_id(int dir)
{
	char path[40], line[80];
	FILE *info;
	int id = -1;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", dir);
	info = fopen(path, "re");
	while (info && id < 0 && fgets(line, sizeof(line), info))
		if (sscanf(line, "mnt_id: %d", &id) != 1)
			id = -1;
	if (info)
		fclose(info);
	return id;
}

static bool mounts_line_is_trusted(char *line)
{
	const char *after = strstr(line, " - ");
	struct mntent m = {0};
	char type[64], opts[512];

	if (!after || sscanf(after, " - %63s %*s %511s", type, opts) != 2)
		return false;
	m.mnt_opts = opts;
	return strcmp(type, "fuse.perfmonfs") == 0 && mounts_trusted(&m);
}

bool mounts_is_trusted(int dir)
{
	CLEANUP_FCLOSE FILE *table = fopen("/proc/self/mountinfo", "re");
	CLEANUP_FREE char *line = NULL;
	int id = mounts_id(dir), at;
	size_t room = 0;

	while (table && id >= 0 && getline(&line, &room, table) > 0)
		if (sscanf(line, "%d", &at) == 1 && at == id)
			return mounts_line_is_trusted(line);
	return false;
}

bool mounts_serves(const char *path)
{
	CLEANUP_CLOSE int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir >= 0 && mounts_is_trusted(dir) && faccessat(dir, "sys/version", R_OK, 0) == 0;
}

bool mounts_find(char path[PATH_MAX])
{
	FILE *table = setmntent("/proc/self/mounts", "re");
	bool found = false;
	struct mntent *m;

	/* A bind mount may show only a part of the tree. */
	while (table && !found && (m = getmntent(table)))
		found = strcmp(m->mnt_type, "fuse.perfmonfs") == 0 && mounts_trusted(m) &&
			mounts_serves(m->mnt_dir) && realpath(m->mnt_dir, path);
	if (table)
		endmntent(table);
	return found;
}
