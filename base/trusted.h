/* SPDX-License-Identifier: MIT */
/* Files that decide what the daemon executes or writes to registers: only root may change them. */
#ifndef BASE_TRUSTED_H
#define BASE_TRUSTED_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* Owners to accept, as bits. */
enum trusted_owner {
	TRUSTED_ROOT = 1,
	TRUSTED_SELF = 2, /* the daemon's effective user */
};

/*
 * True if the file belongs to one of @owners and no other user can write it. Pass the result of
 * fstat(), because a name may refer to another file a moment later.
 */
bool trusted_is(const struct stat *st, unsigned owners);

/* Returns 0 or -EPERM. @what names the file, @why says what it decides: "formats run as root". */
int trusted_check(
	const struct stat *st, unsigned owners, const char *what, const char *why, struct err *e);

#endif
