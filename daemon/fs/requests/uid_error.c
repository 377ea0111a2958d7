// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/uid_error.h"

#include <stdio.h>

#include "base/nsec.h"
#include "daemon/fs/tree/fs_state.h"

/* A user without contexts and open files keeps its sentence for this long, at least. */
#define UID_ERROR_KEEP_NS (60 * NSEC_PER_SEC)

void uid_error_set(struct fs *fs, uid_t uid, const struct err *e)
{
	struct user_quotas *all = &fs->objects.quotas;
	struct user_quota *q = e ? user_quota_get(all, uid) : user_quota_find(all, uid);

	if (!q)
		return;
	snprintf(q->error.text, sizeof(q->error.text), "%s", e ? e->text : "");
	q->error.keep_until = e ? nsec_now(CLOCK_MONOTONIC) + UID_ERROR_KEEP_NS : 0;
}

void uid_error_show(const struct fs *fs, uid_t uid, struct text *out)
{
	const struct user_quota *q = user_quota_find(&fs->objects.quotas, uid);

	text_printf(out, "%s\n", q && *q->error.text ? q->error.text : "ok");
}
