/* SPDX-License-Identifier: MIT */
/* libfuse's low-level API, in the version for which this daemon is written. */
#ifndef FS_FUSE_API_H
#define FS_FUSE_API_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#endif
