/* SPDX-License-Identifier: MIT */
/* Checks and effects of commands that arrive by ctl or clone. */
#ifndef FS_CONTEXT_ROWS_H
#define FS_CONTEXT_ROWS_H

#include "daemon/fs/tree/row.h"

/* Checks a command, and sets load.opener. EPERM: a load on a thread by a user that did not open the
 * file. */
int context_check_load(const struct call *call, struct command *cmd, struct err *e);
/* row.parse of ctl and clone. */
int context_parse_ctl(
	const struct call *call, struct slice text, struct command *cmd, struct err *e);
/* row.commit: ctl and flags show the command from now on. Any thread. */
void context_commit_ctl(struct fs_context *ctx, const struct command *cmd);
void context_commit_flags(struct fs_context *ctx, const struct command *cmd);

#endif
