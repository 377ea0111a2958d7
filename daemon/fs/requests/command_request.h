/* SPDX-License-Identifier: MIT */
/* Requests that are answered when the owner of a context has executed a command. */
#ifndef FS_COMMAND_REQUEST_H
#define FS_COMMAND_REQUEST_H

#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/pending_request.h"

/* The settings in config/ that commands take effect with. */
struct limits command_limits(const struct fs *fs);

/* A command that a request waits for. */
struct command_request {
	struct request request;
	struct job job;
	const struct command_kind *kind;
	/* For the kind's hooks. */
	void *arg;
	/* Precedes the answer; its s is NULL if that need not wait. */
	struct sync_fence fence;
	struct audit_writer writer;
	/* What the record of a load tells. */
	struct loaded_pmcs pmcs;
};

/* The hooks run when the command has ended, in this order. */
struct command_kind {
	/* Updates the tree, whether or not the caller still waits. NULL: nothing to update. */
	void (*follow)(struct command_request *r);
	/* Answers the request. */
	void (*answer)(struct command_request *r);
	/* Instead of answer(), if the answer was EINTR. NULL: nothing to free. */
	void (*abandon)(struct command_request *r);
};

/* Reads and writes by a row's callbacks. */
extern const struct command_kind command_read, command_write;
void command_answer_write(struct command_request *r);

/* What a request for @cmd takes, with its registers and the packet that it came in. */
size_t command_bytes(const struct call *call, const struct command *cmd);

/* Sends @cmd, which it takes, to the owner of the call's context; the answer comes by itself.
 * False: there was no memory, and that is the answer; @arg is still the caller's. */
bool command_submit(
	struct call *call, struct command *cmd, const struct command_kind *kind, void *arg);

/* Answers with an error, and frees @cmd and the call's packet. */
void command_fail(struct call *call, struct command *cmd, const struct err *e);

/*
 * Has another thread find out the caller's rights in @need; then kind->go() executes a copy of
 * @cmd, its arg, which it frees. A kind's drop() is command_drop(). An error: @cmd is still the
 * caller's.
 */
int command_lookup(struct call *call, struct caller_need need, const struct command *cmd,
	const struct caller_kind *kind, struct err *e);
void command_drop(struct call *call, void *arg);

/* Executes a command for an unloaded context, which the session thread owns. */
int command_exec(struct fs_context *ctx, const struct command *cmd, struct err *e);

#endif
