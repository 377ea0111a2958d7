/* SPDX-License-Identifier: MIT */
/*
 * The file that keeps the grants of a mount over restarts of the daemon, until the machine boots:
 * RUN_DIR/grants.MOUNTPOINT, with the lines of config/grants. It is replaced as a whole, so that a
 * daemon that is killed leaves the grants before or after a change.
 */
#ifndef AUTHZ_GRANTS_FILE_H
#define AUTHZ_GRANTS_FILE_H

#include "daemon/authz/grants.h"

/* Bytes of the file. */
enum { GRANTS_FILE_MAX = 1 << 20 };

/*
 * Loads the grants that have not expired at @now. Without a file, or in a user namespace where the
 * directory is another root's, there are none. EPERM: another user can write it; EINVAL, ERANGE,
 * E2BIG: it has been changed by other means.
 */
int grants_file_load(
	const char *run_dir, const char *mountpoint, uint64_t now, struct grants *g, struct err *e);

/* Makes the directory, if need be. Without grants, removes the file. ENAMETOOLONG; E2BIG: the lines
 * are too long; errors of the filesystem. */
int grants_file_save(
	const char *run_dir, const char *mountpoint, const struct grants *g, struct err *e);

#endif
