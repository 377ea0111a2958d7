/* SPDX-License-Identifier: MIT */
/* libfuse's low-level API, in the version that this daemon is written for. */
#ifndef FS_FUSE_API_H
#define FS_FUSE_API_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#endif
