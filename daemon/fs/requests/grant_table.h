/* SPDX-License-Identifier: MIT */
/* config/grants: the grants of the mount, the file that keeps them, and their expiry. */
#ifndef FS_GRANT_TABLE_H
#define FS_GRANT_TABLE_H

#include "daemon/authz/grants.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"

/* Loads the grants for @mountpoint from the file in @run_dir; both strings are kept. ENOMEM,
 * EMFILE; errors of grants_file_load(). */
int grant_table_open(struct fs *fs, const char *run_dir, const char *mountpoint, struct err *e);
/* Call when no context is loaded any more. */
void grant_table_close(struct fs *fs);

/* Readable when a grant has expired or the clock was set; -1 if no grant expires. */
int grant_table_fd(const struct fs *fs);
/* Revokes grants that have expired. */
void grant_table_expire(struct fs *fs);

const struct grants *grant_table_grants(const struct fs *fs);

void grant_table_show(const struct call *call, struct text *out);
/* Writes config/grants. Answers later, when the contexts that need the revoked grants are
 * unloaded. */
int grant_table_store(struct call *call, struct slice text, struct err *e);

#endif
