// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/rdpmc.h"

#include <glob.h>
#include <stdio.h>

#include "base/cleanup.h"

/* The value of the kernel's file: all processes may, with or without perf events. */
enum { RDPMC_ALL = 2 };

static bool rdpmc_file_allows(const char *path)
{
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	int mode;

	return f && fscanf(f, "%d", &mode) == 1 && mode == RDPMC_ALL;
}

/* Each kind of CPU has a file, and all of them must allow it. */
static bool rdpmc_kernel_allows(void)
{
	glob_t found;
	bool all;

	if (glob("/sys/bus/event_source/devices/cpu*/rdpmc", 0, NULL, &found))
		return false;
	all = found.gl_pathc > 0;
	for (size_t i = 0; i < found.gl_pathc; i++)
		all = all && rdpmc_file_allows(found.gl_pathv[i]);
	globfree(&found);
	return all;
}

bool rdpmc_allowed(const struct fs *fs)
{
#if defined(__x86_64__) || defined(__i386__)
	return fs->be->ops->rdpmc && rdpmc_kernel_allows();
#else
	(void)fs;
	return false;
#endif
}
