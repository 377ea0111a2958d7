/* SPDX-License-Identifier: MIT */
/* Live pages of a clone's event sets, in the memory that clients map of the clone. */
#ifndef FS_CLONE_PAGES_H
#define FS_CLONE_PAGES_H

#include "daemon/fs/tree/fs_state.h"

/* Gives all sets live pages, if the clone has map_sets and a region. */
void clone_map_sets(struct fs_context *ctx);
/* Gives a new set a live page, on the same conditions. */
void clone_map_set(struct fs_context *ctx, struct object *set);
/* Frees the live page of a set that is being removed. */
void clone_unmap_set(struct fs_context *ctx, const struct object *set);

#endif
