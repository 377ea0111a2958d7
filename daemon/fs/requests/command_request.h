/* SPDX-License-Identifier: MIT */
/* Requests that are answered when the owner of a context has executed a command. */
#ifndef FS_COMMAND_REQUEST_H
#define FS_COMMAND_REQUEST_H

#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/pending_request.h"

/* The settings of config/ that apply to commands. */
struct limits command_limits(const struct fs *fs);

/* A command that a request waits for. */
struct command_request {
	struct request request;
	struct job job;
	const struct command_kind *kind;
	/* Argument for the kind's hooks. */
	void *arg;
	/* Precedes the answer. fence.s is NULL if the answer need not wait. */
	struct sync_fence fence;
	struct audit_writer writer;
	/* What the audit record says about a load. */
	struct loaded_pmcs pmcs;
};

/* Hooks, run in this order when the command has ended. */
struct command_kind {
	/* Updates the tree, even if the caller no longer waits. NULL: nothing to update. */
	void (*follow)(struct command_request *r);
	/* Answers the request. */
	void (*answer)(struct command_request *r);
	/* Called instead of answer() if the answer was EINTR. NULL: nothing to free. */
	void (*abandon)(struct command_request *r);
};

/* Reads and writes by a row's callbacks. */
extern const struct command_kind command_read, command_write;
void command_answer_write(struct command_request *r);

/* Bytes of a request for @cmd, with its registers and the packet that contained it. */
size_t command_bytes(const struct call *call, const struct command *cmd);

/* Takes @cmd and sends it to the owner of the call's context; the answer follows. Returns false,
 * with an answer, if there was no memory; @arg is then still the caller's. */
bool command_submit(
	struct call *call, struct command *cmd, const struct command_kind *kind, void *arg);

/* Sets the rights of @cmd. False: command_await() is required first. */
bool command_is_ready(const struct call *call, struct command *cmd);
/* For a request on a fiber (await.h): what @cmd needs before the context's owner can execute it; a
 * signal is set by this alone. ENODEV: the context is being removed; EINTR. */
int command_await(struct call *call, struct command *cmd, struct err *e);

/* Answers with an error, and frees @cmd and the call's packet. */
void command_fail(struct call *call, struct command *cmd, const struct err *e);

/* Executes a command for an unloaded context, which the session thread owns. */
int command_exec(struct fs_context *ctx, const struct command *cmd, struct err *e);

#endif
