/* SPDX-License-Identifier: MIT */
/* Events of a context are brought to the requests, pollers and signals that wait for them. */
#ifndef FS_NOTIFY_H
#define FS_NOTIFY_H

#include "daemon/fs/tree/fs_state.h"

/* engine_ctx_ops.on_change. */
void notify_event(struct engine_ctx *ec);
/* The same for events that may have happened unwatched. */
void notify_begin(struct fs_context *ctx);

#endif
