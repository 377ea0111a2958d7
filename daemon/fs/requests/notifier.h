/* SPDX-License-Identifier: MIT */
/* Notification by signal. */
#ifndef FS_NOTIFIER_H
#define FS_NOTIFIER_H

#include "daemon/command/command.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"

/*
 * For a request on a fiber (await.h): executes the command "signal" for the context of the open
 * file. EPERM: the caller, or the user that opened the file, may not signal the target. EFBIG:
 * before Linux 6.13, one of them has too many groups to be identified. EINTR.
 */
int notifier_set(struct call *call, const struct command *cmd, struct err *e);
/* Signals if a notification has become visible since the last time. */
void notifier_raise(struct fs_context *ctx);
void notifier_drop(struct fs_context *ctx);

#endif
