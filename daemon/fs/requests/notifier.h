/* SPDX-License-Identifier: MIT */
/* Notification by signal. */
#ifndef FS_NOTIFIER_H
#define FS_NOTIFIER_H

#include "daemon/command/command.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"

/* Executes the command "signal" for the context of the open file. EPERM: the caller, or the user
 * that opened the file, may not signal the target. EFBIG, EAGAIN: as caller_identity(). */
int notifier_set(struct call *call, const struct command *cmd, struct err *e);
/* Signals if a notification has become visible since the last time. */
void notifier_raise(struct fs_context *ctx);
void notifier_drop(struct fs_context *ctx);

#endif
