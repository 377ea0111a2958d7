/* SPDX-License-Identifier: MIT */
/* last_error of users that have no context at hand: one sentence per user id. */
#ifndef FS_UID_ERROR_H
#define FS_UID_ERROR_H

#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"

struct fs;

/* "ok" if @e is NULL. */
void uid_error_set(struct fs *fs, uid_t uid, const struct err *e);
void uid_error_show(const struct fs *fs, uid_t uid, struct text *out);
void uid_errors_free(struct fs *fs);

#endif
