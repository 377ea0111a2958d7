// SPDX-License-Identifier: MIT
#include "daemon/authz/group_access.h"

#include <errno.h>

static bool group_answered(const struct group_answers *groups, gid_t gid)
{
	for (unsigned i = 0; groups && i < groups->n; i++)
		if (groups->gid[i] == gid)
			return groups->member[i];
	return false;
}

bool group_access_allowed(const struct group_rule *rule, const struct group_requester *r)
{
	if (r->uid == 0 || rule->kind == GROUP_ANY)
		return true;
	if (rule->kind == GROUP_NONE)
		return false;
	return r->gid == rule->gid || group_answered(r->groups, rule->gid);
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

static void group_access_add(
	const struct group_rule *rule, const struct group_requester *r, struct group_answers *open)
{
	if (rule->kind == GROUP_GID && !group_access_allowed(rule, r) &&
		!(open->n && open->gid[0] == rule->gid))
		open->gid[open->n++] = rule->gid;
}

struct group_answers group_access_open(
	const struct config *c, unsigned need, const struct group_requester *r)
{
	struct group_answers open = {0};
	bool may_make =
		group_access_allowed(&c->sys_group, r) || group_access_allowed(&c->thread_group, r);

	if (need & NEED_MAKE && !may_make)
		need |= NEED_SYSTEM | NEED_THREAD;
	if (need & NEED_KERNEL && c->allow_kernel == KERNEL_GROUP)
		need |= NEED_SYSTEM;
	if (need & NEED_SYSTEM)
		group_access_add(&c->sys_group, r, &open);
	if (need & NEED_THREAD)
		group_access_add(&c->thread_group, r, &open);
	return open;
}

int group_access_check(const struct rights *r, struct err *e)
{
	if (r->system || r->thread)
		return 0;
	return err_set(e, EPERM,
		"to make contexts, you need a grant (config/grants) or membership of the group in "
		"config/sys_group or config/thread_group");
}
