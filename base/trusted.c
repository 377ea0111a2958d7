// SPDX-License-Identifier: MIT
#include "base/trusted.h"

#include <errno.h>
#include <unistd.h>

/* The group bits also cover what access control lists grant to other users. */
bool trusted_is(const struct stat *st, unsigned owners)
{
	bool owner = (owners & TRUSTED_ROOT && st->st_uid == 0) ||
		     (owners & TRUSTED_SELF && st->st_uid == geteuid());

	return owner && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int trusted_check(
	const struct stat *st, unsigned owners, const char *what, const char *why, struct err *e)
{
	if (trusted_is(st, owners))
		return 0;
	return err_set(e, EPERM,
		"%s: %s, so it must belong to root and be writable by its owner only: chown root, "
		"chmod go-w",
		what, why);
}
