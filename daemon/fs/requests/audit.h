/* SPDX-License-Identifier: MIT */
/* What the audit record has (config/audit): a line each, with no byte that a user chose but the
 * name of a context, which has only harmless ones. */
#ifndef FS_AUDIT_H
#define FS_AUDIT_H

#include <stdbool.h>

#include "daemon/fs/tree/node.h"

struct command;

/* The process that asked for a load. */
struct audit_writer {
	/* The load is to be recorded. */
	bool wanted;
	uid_t uid;
	pid_t pid;
};

/* The session thread's. */
struct audit_writer audit_writer(const struct call *call, const struct command *cmd);
/* A load has ended with @rc. Only those are recorded that succeed, or that a right refuses. Any
 * thread. */
void audit_load(const struct audit_writer *w, const struct fs_context *ctx,
	const struct command *cmd, int rc);

/* A context was refused with @e. The session thread's. */
void audit_make(const struct call *call, const struct err *e);
/* The key of the call's file was written; @was: config/audit before. The session thread's. */
void audit_config(const struct call *call, bool was);

#endif
