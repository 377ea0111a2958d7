/* SPDX-License-Identifier: MIT */
#ifndef FS_RDPMC_H
#define FS_RDPMC_H

#include "daemon/fs/tree/fs_state.h"

/* Whether processes that map live pages may read the counters by RDPMC. */
bool rdpmc_allowed(const struct fs *fs);

#endif
