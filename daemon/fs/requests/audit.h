/* SPDX-License-Identifier: MIT */
/*
 * The audit record (config/audit): one line per event. The only text in it chosen by users is a
 * context's name, which has only harmless characters, and the path of root's format, at the end.
 */
#ifndef FS_AUDIT_H
#define FS_AUDIT_H

#include <stdbool.h>

#include "daemon/fs/tree/node.h"
#include "perfmonfs/format.h"

struct command;
struct engine_ctx;

/* The process that asked for a load, or for a change of the formats. */
struct audit_writer {
	/* The request must be recorded. */
	bool wanted;
	uid_t uid;
	pid_t pid;
};

/* All functions are for the session thread. */
struct audit_writer audit_writer(const struct call *call, const struct command *cmd);
/* Records a load that has ended with @rc, if it succeeded or was refused for lack of a right. */
void audit_load(
	const struct audit_writer *w, struct fs_context *ctx, const struct command *cmd, int rc);

/* Notes a request that may unload the context. @cause is a constant; @req is NULL if no process
 * asked for it. */
void audit_unload_asked(struct fs_context *ctx, const char *cause, fuse_req_t req);
/* Implements engine_ctx_ops.unloaded. */
void audit_unloaded(struct engine_ctx *ec, bool ending);

struct audit_writer audit_format_writer(const struct call *call);
/*
 * Records that @verb of a format has ended with @rc. @fmt is not NULL if it succeeded. @path is set
 * if its file was opened or could not be; this is recorded whatever the result, because opening a
 * file runs its code.
 */
void audit_format(struct fs *fs, const struct audit_writer *w, const char *verb,
	const pfm_buffer_fmt_t *fmt, const char *path, int rc);

/* Records that a context was refused with @e. */
void audit_make(const struct call *call, const struct err *e);
/* Records that a write to a file outside of contexts was refused with @e. */
void audit_refused_write(const struct call *call, const struct err *e);
/* Records that @lines changed the grants. */
void audit_grants(const struct call *call, const struct text *lines);
/* Records a write to the key of the call's file. @was is the value of config/audit before it. */
void audit_config(const struct call *call, bool was);

#endif
