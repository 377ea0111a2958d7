/* SPDX-License-Identifier: MIT */
/* last_error for requests without a context: one sentence per user id, kept in its quota. */
#ifndef FS_UID_ERROR_H
#define FS_UID_ERROR_H

#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"

struct fs;

/* Sets the sentence of @uid; "ok" if @e is NULL. May free unused quotas, like user_quota_get(). */
void uid_error_set(struct fs *fs, uid_t uid, const struct err *e);
void uid_error_show(const struct fs *fs, uid_t uid, struct text *out);

#endif
