/* SPDX-License-Identifier: MIT */
#ifndef BASE_OPEN_FILES_H
#define BASE_OPEN_FILES_H

#include <sys/resource.h>

/* The number of descriptors that this process may have: RLIMIT_NOFILE. */
static inline rlim_t open_files_max(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

#endif
