/* SPDX-License-Identifier: MIT */
/* Where plans meet the backend: runs one command on one context to its end. */
#ifndef CPU_EXEC_H
#define CPU_EXEC_H

#include "daemon/core/context.h"
#include "perfmonfs/backend.h"

/*
 * Executes @cmd on @ctx, whose owner the caller is. @cpu may be NULL while the context is
 * unloaded: no command but load then needs registers. @plan is the caller's to lend; its content
 * before and after means nothing. Returns 0 or -errno with @e.
 */
int exec_command(struct backend *be, struct backend_cpu *cpu, struct context *ctx,
	struct command *cmd, struct plan *plan, struct err *e);

#endif
