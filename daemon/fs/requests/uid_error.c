// SPDX-License-Identifier: MIT
#include "daemon/fs/fs_i.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UID_ERRORS_MAX = 256 };

struct uid_error {
	uid_t uid;
	char text[sizeof(((struct err *)0)->text)];
};

static struct uid_error *find(const struct fs *fs, uid_t uid)
{
	for (unsigned i = 0; i < fs->nuid_errors; i++)
		if (fs->uid_errors[i].uid == uid)
			return &fs->uid_errors[i];
	return NULL;
}

/* The oldest sentence is given up for a new one; whoever still wants it has had his errno. */
static struct uid_error *make_room(struct fs *fs)
{
	struct uid_error *u;

	if (!fs->uid_errors)
		fs->uid_errors = calloc(UID_ERRORS_MAX, sizeof(*fs->uid_errors));
	if (!fs->uid_errors)
		return NULL;
	if (fs->nuid_errors < UID_ERRORS_MAX)
		return &fs->uid_errors[fs->nuid_errors++];
	u = fs->uid_errors;
	memmove(u, u + 1, (UID_ERRORS_MAX - 1) * sizeof(*u));
	return u + UID_ERRORS_MAX - 1;
}

void uid_error_set(struct fs *fs, uid_t uid, const struct err *e)
{
	struct uid_error *u = find(fs, uid);

	if (!u && e)
		u = make_room(fs);
	if (!u)
		return;
	u->uid = uid;
	snprintf(u->text, sizeof(u->text), "%s", e ? e->text : "ok");
}

void uid_error_show(const struct fs *fs, uid_t uid, struct text *out)
{
	const struct uid_error *u = find(fs, uid);

	text_printf(out, "%s\n", u ? u->text : "ok");
}

void uid_errors_free(struct fs *fs)
{
	free(fs->uid_errors);
}

void call_fail(struct call *call, const struct err *e)
{
	if (call->ctx)
		context_set_error(call->ctx, e);
	else
		uid_error_set(call->fs, fuse_req_ctx(call->req)->uid, e);
	fuse_reply_err(call->req, e->no);
}
