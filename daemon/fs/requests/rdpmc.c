// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/rdpmc.h"

#include <glob.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "perfmonfs/live.h"

/* Values of the kernel's file. */
enum rdpmc_mode {
	RDPMC_NONE,
	RDPMC_MAPPED, /* processes that have mapped a perf event */
	RDPMC_ALL,
};

static int rdpmc_file_mode(const char *path)
{
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	int mode;

	return f && fscanf(f, "%d", &mode) == 1 ? mode : RDPMC_NONE;
}

/* Each kind of CPU has its own file, and all of them must allow it. */
static int rdpmc_kernel_mode(void)
{
	int least = RDPMC_ALL;
	glob_t found;

	if (glob("/sys/bus/event_source/devices/cpu*/rdpmc", 0, NULL, &found))
		return RDPMC_NONE;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		int mode = rdpmc_file_mode(found.gl_pathv[i]);

		least = mode < least ? mode : least;
	}
	globfree(&found);
	return least;
}

uint8_t rdpmc_permits(const struct fs *fs)
{
#if defined(__x86_64__) || defined(__i386__)
	static const uint8_t permits[] = {
		[RDPMC_MAPPED] = PFM_LIVE_MAPPED, [RDPMC_ALL] = PFM_LIVE_RDPMC};
	int mode = fs->be->ops->rdpmc ? rdpmc_kernel_mode() : RDPMC_NONE;

	return mode > RDPMC_NONE ? permits[mode] : 0;
#else
	(void)fs;
	return 0;
#endif
}
