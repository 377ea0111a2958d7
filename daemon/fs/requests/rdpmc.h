/* SPDX-License-Identifier: MIT */
#ifndef FS_RDPMC_H
#define FS_RDPMC_H

#include "daemon/fs/tree/fs_state.h"

/* Which processes that map live pages may read the counters by RDPMC. PFM_LIVE_RDPMC: all;
 * PFM_LIVE_MAPPED: those with a perf event of their own; 0: none. */
uint8_t rdpmc_permits(const struct fs *fs);

#endif
