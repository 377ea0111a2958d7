// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/uid_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fs/tree/fs_state.h"

enum { UID_ERRORS_MAX = 256 };

struct uid_error {
	uid_t uid;
	char text[sizeof(((struct err *)0)->text)];
};

static struct uid_error *uid_error_find(const struct fs *fs, uid_t uid)
{
	for (unsigned i = 0; i < fs->nuid_errors; i++)
		if (fs->uid_errors[i].uid == uid)
			return &fs->uid_errors[i];
	return NULL;
}

/* Drops the oldest sentence if there are too many. Its user has at least the errno. */
static struct uid_error *uid_error_make_room(struct fs *fs)
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
	struct uid_error *u = uid_error_find(fs, uid);

	if (!u && e)
		u = uid_error_make_room(fs);
	if (!u)
		return;
	u->uid = uid;
	snprintf(u->text, sizeof(u->text), "%s", e ? e->text : "ok");
}

void uid_error_show(const struct fs *fs, uid_t uid, struct text *out)
{
	const struct uid_error *u = uid_error_find(fs, uid);

	text_printf(out, "%s\n", u ? u->text : "ok");
}

void uid_errors_free(struct fs *fs)
{
	free(fs->uid_errors);
}
