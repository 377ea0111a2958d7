/* SPDX-License-Identifier: MIT */
/*
 * The lives of contexts: children for the threads that a followed thread makes, and the end of each
 * context. The session thread makes children when the engine asks for them. They are removed one by
 * one or with their parent.
 */
#ifndef FS_CONTEXT_LIFE_H
#define FS_CONTEXT_LIFE_H

#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/fuse_api.h"

/* The engine's callbacks for each context. */
extern const struct engine_ctx_ops context_life_ops;

/* Ends all waits for a context that is being removed, or because the daemon is ending. */
void context_close(struct fs_context *ctx);
/* Implements engine_ctx_ops.destroyed: no owner uses the context any more. Drops the tree's
 * reference. */
void context_gone(struct engine_ctx *ec);
/* Removes a context and its children, then answers @req, which may be NULL. ENOMEM. */
int context_destroy(struct fs_context *ctx, fuse_req_t req);

#endif
