// SPDX-License-Identifier: MIT
/*
 * two_mounts OTHER: contexts of two mounts, PERFMONFS and OTHER, whose inodes have the same
 * numbers: what is known of one is not of the other.
 */
#include <perfmon/perfmon.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/check.h"

static int make(void)
{
	pfarg_ctx_t ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE};

	return FD(pfm_create_context(&ctx, NULL, NULL, 0));
}

static ino_t inode_of(int fd)
{
	struct stat st;

	OK(fstat(fd, &st));
	return st.st_ino;
}

int main(int argc, char **argv)
{
	pfarg_load_t load = {.load_pid = 0};
	int one, other;

	if (argc != 2)
		return 2;
	run_on(0);
	one = make();
	OK(pfm_load_context(one, &load));
	OK(setenv("PERFMONFS", argv[1], 1));
	other = make();
	IS(inode_of(other), (long long)inode_of(one));
	run_on(1);
	FAILS(pfm_start(one, NULL), EBUSY);
	FAILS(pfm_start(other, NULL), EINVAL);
	load.load_pid = 1;
	OK(pfm_load_context(other, &load));
	OK(pfm_start(other, NULL));
	FAILS(pfm_start(one, NULL), EBUSY);
	run_on(0);
	OK(pfm_start(one, NULL));
	FAILS(pfm_stop(other), EBUSY);
	return 0;
}
