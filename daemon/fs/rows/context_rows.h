/* SPDX-License-Identifier: MIT */
/* Checks and effects of commands that come by ctl and by clone. */
#ifndef FS_CONTEXT_ROWS_H
#define FS_CONTEXT_ROWS_H

#include "daemon/fs/tree/row.h"

/* EPERM: a load on a thread by another user than the one that opened the file. Sets load.opener. */
int context_check_load(const struct call *call, struct command *cmd, struct err *e);
/* row.commit: ctl and flags show the command from now on. Any thread. */
void context_commit_ctl(struct fs_context *ctx, const struct command *cmd);
void context_commit_flags(struct fs_context *ctx, const struct command *cmd);

#endif
