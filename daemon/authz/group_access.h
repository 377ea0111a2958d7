/* SPDX-License-Identifier: MIT */
/* The rights that membership of a group gives. */
#ifndef AUTHZ_GROUP_ACCESS_H
#define AUTHZ_GROUP_ACCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "daemon/config/config.h"
#include "daemon/core/request.h"

/* The credentials of the process that asks. */
struct group_requester {
	uid_t uid;
	gid_t gid;
	/* Whether @gid is among its supplementary groups. It is called last, for it is slow. */
	bool (*has_group)(const struct group_requester *r, gid_t gid);
	/* For has_group(). */
	void *arg;
};

bool group_access_allowed(const struct group_rule *rule, const struct group_requester *r);
struct rights group_access_rights(const struct config *c, const struct group_requester *r);
/* EPERM: @r may make no contexts. */
int group_access_check(const struct config *c, const struct group_requester *r, struct err *e);

#endif
