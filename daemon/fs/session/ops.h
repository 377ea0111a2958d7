/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_H
#define FS_OPS_H

#include "daemon/fs/tree/fuse_api.h"

/* The FUSE operations; their user data is the struct fs of a struct session. */
extern const struct fuse_lowlevel_ops fs_ops;

#endif
