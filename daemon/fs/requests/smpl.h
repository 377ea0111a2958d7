/* SPDX-License-Identifier: MIT */
/* The sampling format of a context and its buffer (specification 3.5). A format is made when it is
 * chosen, and ends when another is chosen or the context ends. */
#ifndef FS_SMPL_H
#define FS_SMPL_H

#include "daemon/fs/requests/command_request.h"
#include "perfmonfs/format.h"

struct smpl {
	/* NULL: no format. */
	const pfm_buffer_fmt_t *fmt;
	/* The reference that keeps @fmt registered. */
	struct format_use *use;
	void *arg;
	/* Bytes that the process that chose the format may lock. */
	uint64_t memlock;
	/* fmt_exit() is due. */
	bool begun;
	/* Chosen by PFM_IOC_SETUP: the buffer is mapped from the open clone, not from the file
	 * buffer. */
	bool in_clone;
	/* The buffer; NULL if the format has none. */
	struct shared *mem;
	/* Charged to the context's owner: everything except the buffer, including the messages that
	 * the format wants. */
	struct charge charge;
};

/* The buffer of a context, or NULL. */
static inline struct shared *smpl_memory(const struct fs_context *ctx)
{
	return ctx->smpl ? ctx->smpl->mem : NULL;
}

static inline bool smpl_is_in_clone(const struct fs_context *ctx)
{
	return ctx->smpl && ctx->smpl->in_clone;
}

/* Makes the format that @text requests, for the call's context, which does not use it yet. */
int smpl_new(const struct call *call, struct slice text, struct smpl **out, struct err *e);
/* Makes the format with a name or UUID ("": none) and an argument, for a context with @flags. */
int smpl_choose(const struct call *call, unsigned flags, struct slice format, struct slice arg,
	struct smpl **out, struct err *e);
/* Gives @to, a new context, the format of @from and a buffer of the same size. */
int smpl_copy(struct fs *fs, const struct fs_context *from, struct fs_context *to, struct err *e);

/* Frees a format that was never in use. */
void smpl_drop(struct smpl *s);
/* @s may be NULL. */
void smpl_free(struct smpl *s);

/* Submits @cmd, CMD_FORMAT or CMD_SETUP, after which the context uses @s. Takes both; kind->follow
 * must be smpl_follow(). */
void smpl_submit(
	struct call *call, struct command *cmd, const struct command_kind *kind, struct smpl *s);
/* The same by a request on a fiber (await.h), with CMD_FORMAT. After 0, @e has the note. */
int smpl_await(struct call *call, struct smpl *s, struct err *e);
/* command_kind.follow: the context uses the new format, or the format is dropped. */
void smpl_follow(struct command_request *r);

#endif
