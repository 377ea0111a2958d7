/* SPDX-License-Identifier: MIT */
/*
 * The rights that membership of a group gives. Reading a process's supplementary groups takes up to
 * 16 ms, so they are read only where a rule names one and nothing else decides.
 */
#ifndef AUTHZ_GROUP_ACCESS_H
#define AUTHZ_GROUP_ACCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "daemon/config/config.h"
#include "daemon/core/request.h"

/* The groups that rules name, and whether a process has each as a supplementary group. */
enum { GROUP_RULES = 2 };
struct group_answers {
	unsigned n;
	gid_t gid[GROUP_RULES];
	bool member[GROUP_RULES];
};

/* The credentials of the process that makes the request. */
struct group_requester {
	uid_t uid;
	gid_t gid;
	/* NULL: not known. Without an answer for a group, the requester counts as not a member. */
	const struct group_answers *groups;
};

bool group_access_allowed(const struct group_rule *rule, const struct group_requester *r);
/* The groups on which the rights in @need depend; none: everything is decided already. */
struct group_answers group_access_open(
	const struct config *c, unsigned need, const struct group_requester *r);
struct rights group_access_rights(const struct config *c, const struct group_requester *r);
/* EPERM: the rights do not include making contexts. */
int group_access_check(const struct rights *r, struct err *e);

#endif
