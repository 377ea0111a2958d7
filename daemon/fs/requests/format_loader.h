/* SPDX-License-Identifier: MIT */
/*
 * Formats that root registers and removes while the daemon runs (specification 3.5.8, 3.5.9). The
 * workqueue opens and closes their shared objects one after another, because that may wait for a
 * filesystem and runs code of the file.
 */
#ifndef FS_FORMAT_LOADER_H
#define FS_FORMAT_LOADER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"
#include "daemon/fs/tree/node.h"

/* Registers the format in the file @path. For a request on a fiber. */
int format_loader_register(struct call *call, struct slice path, struct err *e);
/* Removes a format from the registry at once; its file is closed later, before another one is
 * opened. Session thread. */
int format_loader_unregister(struct call *call, struct slice name_or_uuid, struct err *e);

#endif
