/* SPDX-License-Identifier: MIT */
/* A context of pfm: an open MNT/clone, with its directory. The daemon removes the context when the
 * last descriptor is closed, so that it never outlives pfm, however pfm ends. */
#ifndef TOOLS_PFM_TREE_CTX_H
#define TOOLS_PFM_TREE_CTX_H

#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/tree/tree.h"

struct tree_ctx {
	int clone;       /* for ioctls of perfmonfs/ioctl.h, messages, the buffer */
	int dir;         /* ctx/NUMBER, for file_read() and the like */
	uint64_t number; /* its name in ctx/ */
};

#define TREE_CTX_NONE                                                                              \
	{                                                                                          \
		.clone = -1, .dir = -1                                                             \
	}

/* Raises this process's limit of descriptors to the maximum: a context for a thread takes two. */
void ctx_raise_limit(void);

int ctx_open(const struct tree *t, struct tree_ctx *c, struct err *e);
/* Also accepts TREE_CTX_NONE. */
void ctx_close(struct tree_ctx *c);

/* Writes a command to the context's ctl. */
int ctx_command(const struct tree_ctx *c, const char *line, struct err *e);

#endif
