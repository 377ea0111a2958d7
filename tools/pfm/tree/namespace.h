/* SPDX-License-Identifier: MIT */
/* A mount namespace for this process alone, which a user gets within a user namespace. */
#ifndef TOOLS_PFM_TREE_NAMESPACE_H
#define TOOLS_PFM_TREE_NAMESPACE_H

#include <stdbool.h>

#include "base/err.h"

/* Whether this is root of the machine, and not of a container: of a user namespace, or without
 * CAP_SYS_ADMIN. */
bool namespace_root_of_machine(void);

/*
 * Enters a new mount namespace, to which mounts propagate from the old one, but not back. A process
 * that may not do so enters a new user namespace first, where it has the same ids.
 */
int namespace_unshare(struct err *e);

#endif
