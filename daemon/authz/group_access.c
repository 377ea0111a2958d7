// SPDX-License-Identifier: MIT
#include "daemon/authz/group_access.h"

#include <errno.h>

bool group_access_allowed(const struct group_rule *rule, const struct group_requester *r)
{
	if (r->uid == 0 || rule->kind == GROUP_ANY)
		return true;
	if (rule->kind == GROUP_NONE)
		return false;
	return r->gid == rule->gid || r->has_group(r, rule->gid);
}

struct rights group_access_rights(const struct config *c, const struct group_requester *r)
{
	struct rights rights = {
		.system = group_access_allowed(&c->sys_group, r),
		.thread = group_access_allowed(&c->thread_group, r),
	};

	switch (c->allow_kernel) {
	case KERNEL_ANY:
		rights.kernel = true;
		break;
	case KERNEL_GROUP:
		rights.kernel = rights.system;
		break;
	case KERNEL_ROOT:
		rights.kernel = r->uid == 0;
		break;
	}
	return rights;
}

int group_access_check(const struct config *c, const struct group_requester *r, struct err *e)
{
	if (group_access_allowed(&c->sys_group, r) || group_access_allowed(&c->thread_group, r))
		return 0;
	return err_set(e, EPERM,
		"making contexts needs membership of the group in config/sys_group or "
		"config/thread_group");
}
