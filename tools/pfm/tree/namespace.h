/* SPDX-License-Identifier: MIT */
/* A mount namespace for this process only, which a user gets within a user namespace. */
#ifndef TOOLS_PFM_TREE_NAMESPACE_H
#define TOOLS_PFM_TREE_NAMESPACE_H

#include <stdbool.h>

#include "base/err.h"

/* Whether this process is root of the machine, not of a container: it is not in a user namespace,
 * and has CAP_SYS_ADMIN. */
bool namespace_root_of_machine(void);

/* Enters a new mount namespace. Mounts propagate to it from the old one, but not back. A process
 * that may not do so enters a new user namespace first, where it has the same ids. */
int namespace_unshare(struct err *e);

#endif
