/* SPDX-License-Identifier: MIT */
/* The rights of the process that sent a request. The rules are in daemon/authz/group_access.h. */
#ifndef FS_CALLER_H
#define FS_CALLER_H

#include "daemon/core/request.h"
#include "daemon/fs/tree/node.h"

/* EPERM: the caller may make no contexts. */
int caller_may_make(const struct call *call, struct err *e);
struct rights caller_rights(const struct call *call);
/* While memory or contexts are short, finds out whether the caller may use the reserve. */
void caller_note_reserve(const struct call *call);
/* RLIMIT_MEMLOCK of the calling process, bytes; root has no limit. */
uint64_t caller_memlock(const struct call *call);

#endif
