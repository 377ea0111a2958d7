/* SPDX-License-Identifier: MIT */
/* The limits on memory that clients map. */
#ifndef FS_QUOTA_H
#define FS_QUOTA_H

#include "daemon/fs/tree/fs_state.h"

/*
 * Checks whether the user of @ctx, whose process may lock @lock bytes, may have @room bytes more.
 * The bytes of @old (or NULL), which is about to be replaced, count as free unless it is open.
 * ENOMEM, ENOSPC.
 */
int quota_check_memory(struct fs *fs, const struct fs_context *ctx, uint64_t lock, size_t room,
	const struct shared *old, struct err *e);
/* Whether the remaining memory may soon be reserved for root and members of sys_group. */
bool quota_memory_is_short(const struct fs *fs);

#endif
