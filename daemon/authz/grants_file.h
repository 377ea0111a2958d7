/* SPDX-License-Identifier: MIT */
/*
 * The file that keeps the grants of a mount across restarts of the daemon, until the next boot:
 * RUN_DIR/grants.MOUNTPOINT, with the lines of config/grants. It is replaced as a whole, so that a
 * daemon that is killed leaves the grants as they were before or after a change.
 */
#ifndef AUTHZ_GRANTS_FILE_H
#define AUTHZ_GRANTS_FILE_H

#include "daemon/authz/grants.h"

/* Maximum size of the file, in bytes. */
enum { GRANTS_FILE_MAX = 1 << 20 };

/*
 * Loads the grants that have not expired at @now. There are none if there is no file, or in a user
 * namespace where the directory belongs to another root. EPERM: another user can write the file;
 * EINVAL, ERANGE, E2BIG: it has been changed by other means.
 */
int grants_file_load(
	const char *run_dir, const char *mountpoint, uint64_t now, struct grants *g, struct err *e);

/* Makes the directory if necessary. If there are no grants, removes the file. ENAMETOOLONG; E2BIG:
 * the lines are too long; errors of the filesystem. */
int grants_file_save(
	const char *run_dir, const char *mountpoint, const struct grants *g, struct err *e);

#endif
