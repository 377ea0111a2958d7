/* SPDX-License-Identifier: MIT */
/* last_error of users that have no context at hand: one sentence per user id, in its quota. */
#ifndef FS_UID_ERROR_H
#define FS_UID_ERROR_H

#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"

struct fs;

/* "ok" if @e is NULL. May free quotas that are not used, like user_quota_get(). */
void uid_error_set(struct fs *fs, uid_t uid, const struct err *e);
void uid_error_show(const struct fs *fs, uid_t uid, struct text *out);

#endif
