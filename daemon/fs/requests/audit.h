/* SPDX-License-Identifier: MIT */
/* What the audit record has (config/audit): a line each, with no byte that a user chose but the
 * name of a context, which has only harmless ones, and the path of root's format at the end. */
#ifndef FS_AUDIT_H
#define FS_AUDIT_H

#include <stdbool.h>

#include "daemon/fs/tree/node.h"
#include "perfmonfs/format.h"

struct command;
struct engine_ctx;

/* The process that asked for a load, or for a change of the formats. */
struct audit_writer {
	/* That is to be recorded. */
	bool wanted;
	uid_t uid;
	pid_t pid;
};

/* All functions are the session thread's. */
struct audit_writer audit_writer(const struct call *call, const struct command *cmd);
/* A load has ended with @rc. Only those are recorded that succeed, or that a right refuses. */
void audit_load(
	const struct audit_writer *w, struct fs_context *ctx, const struct command *cmd, int rc);

/* A request that may unload the context; @cause is a constant, and @req is NULL if no process has
 * asked for it. */
void audit_unload_asked(struct fs_context *ctx, const char *cause, fuse_req_t req);
/* engine_ctx_ops.unloaded */
void audit_unloaded(struct engine_ctx *ec, bool ending);

struct audit_writer audit_format_writer(const struct call *call);
/*
 * @verb, of a format, has ended with @rc. @fmt: it has succeeded. @path: its file has been opened,
 * or could not be; this is recorded whatever the result, since opening runs code of the file.
 */
void audit_format(struct fs *fs, const struct audit_writer *w, const char *verb,
	const pfm_buffer_fmt_t *fmt, const char *path, int rc);

/* A context was refused with @e. */
void audit_make(const struct call *call, const struct err *e);
/* A write to a file outside of contexts was refused with @e. */
void audit_refused_write(const struct call *call, const struct err *e);
/* Grants were changed by @lines. */
void audit_grants(const struct call *call, const struct text *lines);
/* The key of the call's file was written; @was: config/audit before. */
void audit_config(const struct call *call, bool was);

#endif
