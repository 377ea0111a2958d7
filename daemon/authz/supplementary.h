/* SPDX-License-Identifier: MIT */
/* Reads the supplementary groups of a thread. As that takes up to 16 ms, it is for a workqueue. */
#ifndef AUTHZ_SUPPLEMENTARY_H
#define AUTHZ_SUPPLEMENTARY_H

#include "daemon/authz/group_access.h"

/*
 * Sets groups->member. The thread must have @uid and @gid as its filesystem ids: another thread
 * that has the id @tid by now is a member of nothing, unless it is the same user's.
 */
void supplementary_read(pid_t tid, uid_t uid, gid_t gid, struct group_answers *groups);

#endif
