/* SPDX-License-Identifier: MIT */
/* Reports events of a context to the requests, pollers and signals that wait for them. */
#ifndef FS_NOTIFY_H
#define FS_NOTIFY_H

#include "daemon/fs/tree/fs_state.h"

/* Implements engine_ctx_ops.on_change. */
void notify_event(struct engine_ctx *ec);
/* Reports events that may have happened while the context was not watched. */
void notify_begin(struct fs_context *ctx);

#endif
