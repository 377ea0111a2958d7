/* SPDX-License-Identifier: MIT */
/*
 * Formats that root registers and removes while the daemon runs (specification 3.5.8, 3.5.9). A
 * thread opens and closes their shared objects, one after another: that may wait for a filesystem,
 * and runs code of the file. There is one loader, as there is one registry.
 */
#ifndef FS_FORMAT_LOADER_H
#define FS_FORMAT_LOADER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"
#include "daemon/fs/tree/node.h"

/* Registers the format of the file @path: CALL_LATER, or an error. The session thread's. */
int format_loader_register(struct call *call, struct slice path, struct err *e);
/* Removes a format from the registry at once; its file is closed later, before another one is
 * opened. The session thread's. */
int format_loader_unregister(struct call *call, struct slice name_or_uuid, struct err *e);

/* Readable when a file may have been opened or closed, which is expected if the second is true; -1:
 * none ever was. */
int format_loader_fd(void);
bool format_loader_expects(void);
/* Goes on with what has been opened or closed. */
void format_loader_complete(void);

/* Ends the thread, and refuses the registrations that are left. It does not wait for a file. */
void format_loader_stop(void);
/* After that: the thread is still at a file. */
bool format_loader_is_stuck(void);

#endif
